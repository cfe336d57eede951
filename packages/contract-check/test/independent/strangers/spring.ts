/** Employees, in the shapes of Spring: entities of JPA with a version in the body, pages of Spring Data, and a job. */
import { randomUUID } from 'node:crypto';
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import { bearerAuth, bearerCaller, type Caller, found, type Input, inputOf, json, stranger } from './stranger.ts';

interface Employee {
  readonly id: number;
  version: number;
  readonly lastName: unknown;
  salary: unknown;
  readonly department: unknown;
  readonly [name: string]: unknown;
}

interface Job {
  readonly jobId: string;
  readonly type: unknown;
  readonly started: number;
}

export const spring = stranger(
  'spring',
  {
    locking: {
      'stale-accepted': 'update: a stale version is accepted',
      'version-kept': 'update: an update does not move the version',
    },
    writes: {
      'salary-lost': 'update: a salary is returned, and not stored',
      'delete-lost': 'deleteById: a deleted employee stays',
      'phone-kept': 'update: what is left out is kept',
    },
    lists: {
      'page-from-one': 'findAll: the first page is number 1',
      'department-ignored': 'findAll: the filter department is ignored',
      'total-off': 'findAll: totalElements is one too many',
      'last-wrong': 'findAll: the last page is not the last',
      'descending-ignored': 'findAll: descending orders ascend',
    },
    jobs: {
      'job-stuck': 'getReportJob: a job is never COMPLETED',
      'result-of-other': 'getReportResult: the result has the jobId of another job',
      'result-early': 'getReportResult: the result is returned before the job is done',
      'result-missing': 'getReportResult: the result of a job that is done does not exist',
    },
    'later reads': { 'update-moves-first': 'update: an update changes the salary of the first employee, too' },
  },
  bearerAuth([], 1),
  (contract, is) => {
    const employees: Employee[] = [];
    const jobs = new Map<string, Job>();
    let count = 0;
    const fields = ({ firstName, lastName, phone = null, salary = null, department }: Input) => ({
      firstName,
      lastName,
      phone,
      salary,
      department,
    });
    const add = (input: Input): Employee => {
      const employee = { id: ++count, version: 0, ...fields(input) };
      employees.push(employee);
      return employee;
    };
    for (const [index, lastName] of ['Okafor', 'Berg', 'Silva', 'Ito', 'Novak', 'Ames', 'Cole'].entries()) {
      const department = ['SALES', 'LEGAL', 'OPERATIONS'][index % 3];
      add({ firstName: `Kim ${index}`, lastName, phone: `555-01${index}0`, salary: 41_000 + index * 1700, department });
    }
    const employeeOf = ({ values }: Call<Caller>) => found(employees.find(({ id }) => id === values.path.id));

    function list({ values }: Call<Caller>): Result {
      const { page: number = 0, size = 20, sort, department } = values.query as Record<string, number & string>;
      const page = is('page-from-one') ? Math.max(0, number - 1) : number;
      const name = String(sort ?? 'id').replace('-', '');
      const sign = String(sort).startsWith('-') && !is('descending-ignored') ? -1 : 1;
      const compare = (one: Employee, other: Employee) => {
        const [left, right] = [one[name] ?? 0, other[name] ?? 0];
        return left === right ? one.id - other.id : left < right ? -sign : sign;
      };
      const all = employees
        .filter((one) => department === undefined || one.department === department || is('department-ignored'))
        .sort(compare);
      const content = all.slice(page * size, (page + 1) * size);
      const isLast = (page + 1) * size >= all.length;
      return json(200, {
        totalElements: all.length + Number(is('total-off')),
        totalPages: Math.ceil(all.length / size),
        size,
        content,
        number,
        first: page === 0,
        last: isLast && !is('last-wrong'),
        numberOfElements: content.length,
        empty: content.length === 0,
      });
    }

    function update(call: Call<Caller>): Result {
      const employee = employeeOf(call);
      const input = inputOf(call);
      if (input.version !== employee.version && !is('stale-accepted'))
        throw rejection(409, 'Row was updated or deleted by another transaction');
      const before = { ...employee };
      Object.assign(employee, fields(input), { version: employee.version + Number(!is('version-kept')) });
      if (is('phone-kept')) for (const name of ['phone', 'salary']) employee[name as 'salary'] ??= before[name];
      const result = { ...employee };
      if (is('salary-lost')) employee.salary = before.salary;
      const other = employees.find((one) => one !== employee);
      if (is('update-moves-first') && other) other.salary = Number(other.salary) + 100;
      return json(200, result);
    }

    const jobOf = ({ values }: Call<Caller>) => found(jobs.get(String(values.path.jobId).toLowerCase()));
    const statusOf = ({ started }: Job) => {
      const age = Date.now() - started;
      return age < 40 ? 'QUEUED' : age < 160 || is('job-stuck') ? 'RUNNING' : 'COMPLETED';
    };
    const viewOf = (job: Job) => ({ jobId: job.jobId, type: job.type, status: statusOf(job) });

    return {
      contract,
      lenient: true,
      authenticate: (operation, request) => bearerCaller(operation, request),
      reject: ({ status, message }) =>
        json(status, { timestamp: new Date().toISOString(), status, error: message, path: '/api' }),
      handlers: {
        findAll: list,
        create: (call) => json(201, add(inputOf(call))),
        findById: (call) => json(200, employeeOf(call)),
        update,
        deleteById: (call) => {
          const index = employees.indexOf(employeeOf(call));
          if (!is('delete-lost')) employees.splice(index, 1);
          return { status: 204 };
        },
        startReport: (call) => {
          const job = { jobId: randomUUID(), type: inputOf(call).type, started: Date.now() };
          jobs.set(job.jobId, job);
          return json(202, viewOf(job));
        },
        getReportJob: (call) => json(200, viewOf(jobOf(call))),
        getReportResult: (call) => {
          const job = jobOf(call);
          const isDone = statusOf(job) === 'COMPLETED';
          if (!isDone && !is('result-early')) throw rejection(409, 'The job is not COMPLETED');
          if (isDone && is('result-missing')) throw rejection(404, 'Not found');
          const jobId = is('result-of-other') ? randomUUID() : job.jobId;
          return json(200, { jobId, rows: employees.length, text: `${job.type}: ${employees.length}` });
        },
      },
    };
  },
);
