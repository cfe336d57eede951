import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import type { Express } from 'express';
import { isArriving, lingerAfter } from './linger.ts';

class Request extends IncomingMessage {}
class Response<Of extends IncomingMessage = IncomingMessage> extends ServerResponse<Of> {
  /** A response that is sent before the body of its request has arrived closes the connection, and says so. */
  override writeHead(status: number, ...more: unknown[]): this {
    if (isArriving(this.req)) {
      this.setHeader('Connection', 'close');
      lingerAfter(this);
    }
    return Reflect.apply(super.writeHead, this, [status, ...more]);
  }
}

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
