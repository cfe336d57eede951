/** The MCP server: its tools find, describe and call the operations that a caller may use. */
import { type CallToolResult, Server } from '@modelcontextprotocol/server';
import { callOperation, failure, type Send, textResult } from './call.ts';
import type { Contract } from './contract.ts';
import { type Choice, descriptionsOf, listOf, reasonAgainst, toolNames, toolsOf } from './tools.ts';

export interface Offer extends Choice {
  readonly tenant: string;
  /** Maximum number of characters of a result. */
  readonly maxOutput: number;
}

type Arguments = Readonly<Record<string, unknown>>;

export function createServer(contract: Contract, offer: Offer, send: Send): Server {
  const offered = contract.operations.filter((operation) => reasonAgainst(operation, offer) === undefined);
  const tools = toolsOf(offer);
  const server = new Server(
    { name: 'financial-automation', title: contract.title, version: contract.version },
    { capabilities: { tools: {} }, instructions: instructionsOf(contract, offer) },
  );
  const handlers: Readonly<Record<string, (args: Arguments, signal: AbortSignal) => Promise<CallToolResult>>> = {
    [toolNames.find]: async ({ words, tag }) =>
      textResult(
        listOf(offered, words === undefined ? '' : String(words), tag === undefined ? undefined : String(tag)),
      ),
    [toolNames.describe]: async ({ names }) => {
      if (!Array.isArray(names) || names.length === 0)
        return failure('describe requires names, a list of operations or types.');
      return textResult(descriptionsOf(names.map(String), offered, contract));
    },
    [toolNames.read]: (args, signal) => call(args, true, signal),
    // Without --allow-writes it is not listed, and says so.
    [toolNames.write]: (args, signal) => call(args, false, signal),
  };
  async function call(args: Arguments, isRead: boolean, signal: AbortSignal): Promise<CallToolResult> {
    const operation = contract.operations.find(({ id }) => id === args.operation);
    if (operation === undefined)
      return failure(`The operation ${args.operation} does not exist. find_operations lists all.`);
    const reason = reasonAgainst(operation, offer);
    if (reason !== undefined) return failure(reason);
    if (operation.isRead !== isRead)
      return failure(`Call ${operation.id} with ${operation.isRead ? toolNames.read : toolNames.write}.`);
    const fields = Array.isArray(args.fields) ? args.fields.map(String) : [];
    return await callOperation(operation, Object(args.arguments), fields, { send, limit: offer.maxOutput, signal });
  }
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const handle = Object.hasOwn(handlers, params.name) ? handlers[params.name] : undefined;
    if (handle === undefined)
      return failure(
        `The tool ${params.name} does not exist. The tools are ${tools.map(({ name }) => name).join(', ')}.`,
      );
    const args = params.arguments ?? {};
    // A dry run whose argument is in the wrong place would write.
    const known = Object.keys(tools.find(({ name }) => name === params.name)?.inputSchema.properties ?? args);
    const unknown = Object.keys(args).find((name) => !known.includes(name));
    if (unknown !== undefined)
      return failure(`${params.name} has no argument ${unknown}. Its arguments are ${known.join(', ')}.`);
    return await handle(args, mcpReq.signal);
  });
  return server;
}

function instructionsOf({ summary }: Contract, { tenant, allowWrites }: Offer): string {
  return [
    summary,
    `All calls are for the tenant ${tenant}${allowWrites ? '' : ' and only read data'}.`,
    'Money, hours and rates are decimal strings, such as "1250.00". Instants are in UTC.',
    'Find an operation with find_operations, see its arguments with describe, and call it with read' +
      `${allowWrites ? ' or write' : ''}.`,
    'To find rows, use the search operations: they filter by columns and related rows, and sort. For sums and counts, use the aggregate operations. Ask for the fields that you need.',
  ].join(' ');
}
