/** The MCP server: lists the tools of a caller, and calls them. */
import { Server } from '@modelcontextprotocol/server';
import { callTool, failure, type Send } from './call.ts';
import type { Contract, Operation } from './contract.ts';
import { type Choice, reasonAgainst, toolOf } from './tools.ts';

export interface Offer extends Choice {
  readonly tenant: string;
  /** Maximum number of characters of a result. */
  readonly maxOutput: number;
}

export function createServer(contract: Contract, offer: Offer, send: Send): Server {
  const operations = new Map<string, Operation>(contract.operations.map((operation) => [operation.id, operation]));
  const tools = contract.operations
    .filter((operation) => reasonAgainst(operation, offer) === undefined)
    .map((operation) => toolOf(operation, contract));
  const server = new Server(
    { name: 'financial-automation', title: contract.title, version: contract.version },
    { capabilities: { tools: {} }, instructions: instructionsOf(contract, offer) },
  );
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    const operation = operations.get(params.name);
    if (operation === undefined) return failure(`The tool ${params.name} does not exist.`);
    const reason = reasonAgainst(operation, offer);
    if (reason !== undefined) return failure(reason);
    return callTool(operation, params.arguments ?? {}, { send, limit: offer.maxOutput, signal: mcpReq.signal });
  });
  return server;
}

function instructionsOf({ summary }: Contract, { tenant, allowWrites }: Offer): string {
  return [
    summary,
    `All calls are for the tenant ${tenant}${allowWrites ? '' : ' and only read data'}.`,
    'Money, hours and rates are decimal strings, such as "1250.00". Instants are in UTC.',
    'To find rows, use the search operations: they filter by columns and related rows, and sort.',
  ].join(' ');
}
