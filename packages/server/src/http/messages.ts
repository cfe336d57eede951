import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import type { Express } from 'express';

class Request extends IncomingMessage {}
class Response<Of extends IncomingMessage = IncomingMessage> extends ServerResponse<Of> {}

/**
 * The requests and responses of servers, as options of a server. Express gives each message its methods by replacing its prototype,
 * which takes longer than the rest of Express: these have the methods from the start.
 */
export const messages: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> = {
  IncomingMessage: Request,
  ServerResponse: Response,
};

/** Gives the messages the methods of an application. All applications of a process share them, and have the same settings. */
export function extendMessages(app: Express): void {
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  Object.assign(app, { request: Request.prototype, response: Response.prototype });
}
