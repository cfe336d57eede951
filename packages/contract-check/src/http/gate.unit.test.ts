import { describe, expect, it } from 'vitest';
import { contractOperation } from '../../test/doubles/report.ts';
import { Gate } from './gate.ts';

const operations = [
  contractOperation('listTools', 'GET', '/tools'),
  contractOperation('getTool', 'GET', '/tools/{id}'),
  contractOperation('getOwnTool', 'GET', '/tools/mine'),
  contractOperation('deleteTool', 'DELETE', '/tools/{id}'),
  contractOperation('resetPassword', 'POST', '/auth/reset/password-email'),
];

function gate(allowed: readonly string[], { isDisposable = true, isSelective = false } = {}): Gate {
  return new Gate({
    operations,
    isAllowed: ({ id }) => allowed.includes(id),
    isExcludedPath: () => false,
    isSelective,
    isDisposable,
    mayChange: (_operation, path) => path === '/tools/own',
    base: '/v1',
  });
}

function admits(at: Gate, request: string, headers: Record<string, string> = {}): boolean {
  const [method = '', target = ''] = request.split(' ');
  try {
    at.check({ method, target, headers, body: undefined });
    return true;
  } catch {
    return false;
  }
}

const others = ['listTools', 'getTool', 'getOwnTool', 'deleteTool'];

describe('the gate', () => {
  it.each([
    'POST /auth/reset/password-email',
    'POST /auth/reset/password-email/',
    'POST //auth//reset/password-email?x=1',
    'POST /auth/reset/./password-email',
    'POST /tools/../auth/reset/password-email',
    'POST /tools/%2e%2e/auth/reset/password-email',
    'POST /auth%2Freset%2Fpassword-email',
    'POST /auth/reset/p%61ssword-email',
    'POST /auth/reset/p%2561ssword-email',
    'POST /auth/reset/password-email;x=1',
    'POST /AUTH/reset/Password-Email',
    'POST /auth/reset/password-email.json',
    'POST \\auth\\reset\\password-email',
    'POST /../v1/auth/reset/password-email',
    'PUT /auth/reset/password-email',
    'OPTIONS /auth/reset/password-email',
  ])('rejects %s if the operation is excluded', (request) => {
    expect(admits(gate(others), request)).toBe(false);
  });

  it('treats HEAD as GET, and respects headers that replace the method', () => {
    const at = gate(['listTools', 'deleteTool']);
    expect(admits(at, 'HEAD /tools')).toBe(true);
    expect(admits(at, 'HEAD /tools/1')).toBe(false);
    expect(admits(gate(['getTool']), 'GET /tools/1', { 'X-HTTP-Method-Override': 'DELETE' })).toBe(false);
  });

  it('selects the most specific path, as routers do', () => {
    expect(admits(gate(['getOwnTool']), 'GET /tools/mine')).toBe(true);
    expect(admits(gate(['getOwnTool']), 'GET /tools/1')).toBe(false);
    expect(admits(gate(['getTool']), 'GET /tools/mine')).toBe(false);
    expect(admits(gate(['getOwnTool', 'getTool']), 'DELETE /tools/mine')).toBe(false);
  });

  it('rejects changes of data that the run did not create, and undeclared changes, unless data are disposable', () => {
    const at = gate(others, { isDisposable: false });
    expect(admits(at, 'DELETE /tools/own')).toBe(true);
    expect(admits(at, 'DELETE /tools/other')).toBe(false);
    expect(admits(at, 'DELETE /tools')).toBe(false);
    expect(admits(at, 'PUT /unknown')).toBe(false);
    expect(admits(at, 'GET /unknown')).toBe(true);
    expect(admits(gate(others), 'DELETE /tools')).toBe(true);
  });

  it('admits only what is below selected operations, if operations are selected', () => {
    const at = gate(['listTools'], { isSelective: true });
    expect(admits(at, 'GET /tools/1/history')).toBe(true);
    expect(admits(at, 'GET /openapi.json')).toBe(false);
  });
});
