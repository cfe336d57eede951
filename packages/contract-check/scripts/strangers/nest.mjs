/**
 * A small NestJS application whose document `@nestjs/swagger` derives from its classes, as its users write them, with a
 * guard and a validation pipe. Decorators are applied as TypeScript does it. The packages are those of the folder in which
 * it runs.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'index.js'));
require('reflect-metadata');
const nest = require('@nestjs/common');
const swagger = require('@nestjs/swagger');
const is = require('class-validator');
const { Type } = require('class-transformer');
const { NestFactory } = require('@nestjs/core');

const field = (target, name, type, ...decorators) => {
  Reflect.defineMetadata('design:type', type, target.prototype, name);
  for (const decorator of decorators.toReversed()) decorator(target.prototype, name);
};
const method = (target, name, types, parameters, ...decorators) => {
  const { prototype } = target;
  Reflect.defineMetadata('design:paramtypes', types, prototype, name);
  for (const [index, parameter] of parameters.entries()) parameter(prototype, name, index);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators.toReversed()) decorator(prototype, name, descriptor);
};

class CreateProject {}
field(
  CreateProject,
  'name',
  String,
  swagger.ApiProperty({ minLength: 1, maxLength: 60 }),
  is.IsString(),
  is.Length(1, 60),
);
field(
  CreateProject,
  'color',
  String,
  swagger.ApiPropertyOptional({ pattern: '^#[0-9a-f]{6}$' }),
  is.IsOptional(),
  is.Matches(/^#[0-9a-f]{6}$/),
);
class UpdateProject extends swagger.PartialType(CreateProject) {}
class Project extends CreateProject {}
field(Project, 'id', String, swagger.ApiProperty({ format: 'uuid' }));
field(Project, 'createdAt', String, swagger.ApiProperty({ format: 'date-time' }));

const priorities = ['low', 'normal', 'high'];
class CreateTask {}
field(
  CreateTask,
  'title',
  String,
  swagger.ApiProperty({ minLength: 1, maxLength: 120 }),
  is.IsString(),
  is.Length(1, 120),
);
field(
  CreateTask,
  'priority',
  String,
  swagger.ApiPropertyOptional({ enum: priorities, default: 'normal' }),
  is.IsOptional(),
  is.IsIn(priorities),
);
field(
  CreateTask,
  'estimate',
  Number,
  swagger.ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100 }),
  is.IsOptional(),
  is.IsInt(),
  is.Min(1),
  is.Max(100),
);
class Task extends CreateTask {}
field(Task, 'id', Number, swagger.ApiProperty({ type: 'integer', minimum: 1 }));
field(Task, 'isDone', Boolean, swagger.ApiProperty());

class Page {}
field(
  Page,
  'limit',
  Number,
  swagger.ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 50, default: 20 }),
  is.IsOptional(),
  Type(() => Number),
  is.IsInt(),
  is.Min(1),
  is.Max(50),
);
field(
  Page,
  'offset',
  Number,
  swagger.ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 10_000, default: 0 }),
  is.IsOptional(),
  Type(() => Number),
  is.IsInt(),
  is.Min(0),
  is.Max(10_000),
);

class NestError {}
field(NestError, 'statusCode', Number, swagger.ApiProperty({ type: 'integer' }));
field(NestError, 'error', String, swagger.ApiPropertyOptional());
field(
  NestError,
  'message',
  Object,
  swagger.ApiProperty({ oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }),
);

class KeyGuard {
  canActivate(context) {
    const { authorization } = context.switchToHttp().getRequest().headers;
    if (authorization !== 'Bearer key-of-nest') throw new nest.UnauthorizedException();
    return true;
  }
}

const projects = new Map();
const projectOf = (id) => {
  const project = projects.get(id);
  if (project === undefined) throw new nest.NotFoundException('There is no such project.');
  return project;
};
const shown = ({ tasks: _tasks, ...project }) => project;
let next = 1;

class Projects {
  list({ limit = 20, offset = 0 }) {
    return [...projects.values()].slice(offset, offset + limit).map(shown);
  }
  create(body) {
    const project = { id: randomUUID(), createdAt: new Date().toISOString(), ...body, tasks: new Map() };
    projects.set(project.id, project);
    return shown(project);
  }
  read(id) {
    return shown(projectOf(id));
  }
  update(id, body) {
    return shown(Object.assign(projectOf(id), body));
  }
  remove(id) {
    projectOf(id);
    projects.delete(id);
  }
}

class Tasks {
  list(projectId) {
    return [...projectOf(projectId).tasks.values()];
  }
  create(projectId, body) {
    const { tasks } = projectOf(projectId);
    const task = { id: next++, priority: 'normal', isDone: false, ...body };
    tasks.set(task.id, task);
    return task;
  }
  find(projectId, id) {
    const task = projectOf(projectId).tasks.get(id);
    if (task === undefined) throw new nest.NotFoundException('There is no such task.');
    return task;
  }
  complete(projectId, id) {
    return Object.assign(this.find(projectId, id), { isDone: true });
  }
  remove(projectId, id) {
    this.find(projectId, id);
    projects.get(projectId).tasks.delete(id);
  }
}

const uuid = nest.ParseUUIDPipe;
const errors = (...statuses) =>
  statuses.map((status) => swagger.ApiResponse({ status, description: 'An error.', type: NestError }));
const ok = (type) => swagger.ApiOkResponse({ description: 'Done.', type });
const created = (type) => swagger.ApiCreatedResponse({ description: 'Created.', type });
const gone = [nest.HttpCode(204), swagger.ApiNoContentResponse({ description: 'Deleted.' })];
const [id, projectId] = [nest.Param('id', uuid), nest.Param('projectId', uuid)];
const taskId = nest.Param('taskId', nest.ParseIntPipe);
const named = (name) => swagger.ApiOperation({ operationId: name });
const uuidParam = (name) => swagger.ApiParam({ name, schema: { type: 'string', format: 'uuid' } });
const taskParam = swagger.ApiParam({ name: 'taskId', schema: { type: 'integer', minimum: 1, maximum: 2_147_483_647 } });

method(Projects, 'list', [Page], [nest.Query()], nest.Get(), named('listProjects'), ok([Project]), ...errors(400, 401));
method(
  Projects,
  'create',
  [CreateProject],
  [nest.Body()],
  nest.Post(),
  named('createProject'),
  created(Project),
  ...errors(400, 401),
);
method(
  Projects,
  'read',
  [String],
  [id],
  nest.Get(':id'),
  named('getProject'),
  uuidParam('id'),
  ok(Project),
  ...errors(400, 401, 404),
);
method(
  ...[Projects, 'update', [String, UpdateProject], [id, nest.Body()], nest.Patch(':id'), named('updateProject')],
  ...[uuidParam('id'), ok(Project), ...errors(400, 401, 404)],
);
method(
  Projects,
  'remove',
  [String],
  [id],
  nest.Delete(':id'),
  named('deleteProject'),
  uuidParam('id'),
  ...gone,
  ...errors(400, 401, 404),
);

const ofTask = [uuidParam('projectId'), taskParam, ...errors(400, 401, 404)];
method(
  Tasks,
  'list',
  [String],
  [projectId],
  nest.Get(),
  named('listTasks'),
  uuidParam('projectId'),
  ok([Task]),
  ...errors(400, 401, 404),
);
method(
  ...[Tasks, 'create', [String, CreateTask], [projectId, nest.Body()], nest.Post(), named('createTask')],
  ...[uuidParam('projectId'), created(Task), ...errors(400, 401, 404)],
);
method(
  Tasks,
  'find',
  [String, Number],
  [projectId, taskId],
  nest.Get(':taskId'),
  named('getTask'),
  ok(Task),
  ...ofTask,
);
method(
  ...[Tasks, 'complete', [String, Number], [projectId, taskId], nest.Post(':taskId/complete'), nest.HttpCode(200)],
  ...[named('completeTask'), ok(Task), ...ofTask],
);
method(
  Tasks,
  'remove',
  [String, Number],
  [projectId, taskId],
  nest.Delete(':taskId'),
  named('deleteTask'),
  ...gone,
  ...ofTask,
);

for (const [path, controller] of [
  ['projects', Projects],
  ['projects/:projectId/tasks', Tasks],
])
  for (const decorator of [nest.Controller(path), nest.UseGuards(KeyGuard), swagger.ApiBearerAuth()])
    decorator(controller);
class App {}
nest.Module({ controllers: [Projects, Tasks] })(App);

const app = await NestFactory.create(App, { logger: ['error'] });
app.useGlobalPipes(new nest.ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
const config = new swagger.DocumentBuilder().setTitle('Projects').setVersion('1.0.0').addBearerAuth().build();
const document = swagger.SwaggerModule.createDocument(app, config);
app.getHttpAdapter().get('/openapi.json', (_request, response) => response.json(document));
await app.listen(Number(process.argv[2]), '127.0.0.1');
