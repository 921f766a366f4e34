/**
 * HTTP server for ports that any client can reach. It serves only GET and HEAD requests without a body, and returns 4xx for
 * requests that it cannot read. It limits the connections, time, headers and concurrent requests that a client can use.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { defined } from '#lib';
import { errorText, type Logger } from '#observe/logger';
import { HTTP_REFUSED, type Metrics } from '#observe/metrics';

export interface RequestTarget {
  readonly path: string;
  readonly query: URLSearchParams;
}

export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  target: RequestTarget,
) => Promise<void> | void;

/** Thrown if a query is invalid. The message describes the problem and is the body of the response with status 400. */
export class BadQuery extends Error {
  override readonly name = 'BadQuery';
}

interface HttpServerOptions {
  /** Purpose of the port, for logs and metrics. */
  readonly name: string;
  readonly handler: RequestHandler;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<HttpLimits>;
}

export interface HttpLimits {
  /** Maximum number. Beyond it, the server closes the oldest idle connection, or the oldest one if all are busy. */
  readonly connections: number;
  /** Maximum number of concurrent requests on one connection. Further pipelined requests get 503. */
  readonly pipelined: number;
  /** Number of requests after which the server closes a keep-alive connection. */
  readonly requestsPerConnection: number;
  readonly headerBytes: number;
  /** Maximum time until all headers have arrived. */
  readonly headersMs: number;
  /** Maximum time until the whole request has arrived. */
  readonly requestMs: number;
  /** Interval between checks of `headersMs` and `requestMs`. */
  readonly checkMs: number;
  /** Maximum time without a byte in either direction. It must be longer than the timeout of a readiness probe. */
  readonly silenceMs: number;
  readonly keepAliveMs: number;
}

const LIMITS: HttpLimits = {
  connections: 256,
  pipelined: 4,
  requestsPerConnection: 100,
  headerBytes: 8 * 1024,
  headersMs: 5_000,
  requestMs: 10_000,
  checkMs: 1_000,
  silenceMs: 60_000,
  // Prometheus scrapes every 15 to 60 s and opens another connection if this one is closed
  keepAliveMs: 20_000,
};

/** Reason for refusing a request or a connection. The reasons are label values of a metric. */
type Refusal = 'target' | 'method' | 'body' | 'pipelining' | 'connections' | 'unreadable';

/** State of one port's server, shared by all its requests. */
interface Port {
  readonly name: string;
  readonly handler: RequestHandler;
  readonly log: Logger;
  readonly limits: HttpLimits;
  readonly refuse: (reason: Refusal) => void;
  /** Number of requests in progress, by open connection. */
  readonly atWork: Map<Socket, number>;
}

/** Creates a server that does not listen yet; see `listen`. */
export function boundedServer({ name, handler, log, metrics, limits: given }: HttpServerOptions): Server {
  const limits = { ...LIMITS, ...given };
  const refused = metrics.counter(HTTP_REFUSED);
  const refuse = (reason: Refusal): void => refused.inc({ port: name, reason });
  const port: Port = { name, handler, log, limits, refuse, atWork: new Map() };

  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkMs,
      keepAliveTimeout: limits.keepAliveMs,
    },
    (request, response) => admit(port, request, response),
  );
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  server.setTimeout(limits.silenceMs);
  watchConnections(server, port);
  return server;
}

/** Serves a request if it is valid, and refuses it otherwise. */
function admit(port: Port, request: IncomingMessage, response: ServerResponse): void {
  const turnAway = (reason: Refusal, status: number, text: string): void => {
    port.refuse(reason);
    // the next bytes of the connection may be a body that never ends
    response.setHeader('connection', 'close');
    answer(response, status, text);
  };
  const { method = '', socket } = request;
  const target = targetOf(request.url);
  const busy = port.atWork.get(socket) ?? 0;
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    turnAway('method', 405, `method ${method} is not allowed, use GET\n`);
  } else if (hasBody(request)) turnAway('body', 413, 'requests with a body are not served\n');
  else if (target === undefined) turnAway('target', 400, 'the target of the request is not a path\n');
  else if (busy >= port.limits.pipelined) turnAway('pipelining', 503, 'too many requests on one connection\n');
  else {
    countWork(port.atWork, socket, response);
    void serve(port, request, response, target);
  }
}

/** Counts a request as in progress on its connection until its response is closed. */
function countWork(atWork: Port['atWork'], socket: Socket, response: ServerResponse): void {
  const add = (requests: number): void => {
    if (atWork.has(socket)) atWork.set(socket, Math.max(0, (atWork.get(socket) ?? 0) + requests));
  };
  add(1);
  response.once('close', () => add(-1));
}

/** Limits the number of connections, and closes a connection if its request cannot be served. */
function watchConnections(server: Server, { name, log, limits, refuse, atWork }: Port): void {
  server.on('connection', (socket: Socket) => {
    // Node.js removes its own listener before it hands over a connection, for example for CONNECT. Without this listener,
    // an error would end the process.
    socket.on('error', () => undefined);
    atWork.set(socket, 0);
    socket.once('close', () => atWork.delete(socket));
    if (atWork.size <= limits.connections) return;
    refuse('connections');
    oldest(atWork).destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code !== 'ECONNRESET') refuse('unreadable');
    if (socket.writable && error.code !== 'ECONNRESET') socket.end(refusalOf(error.code));
    // the client may never close its side
    socket.destroySoon();
  });
  server.on('connect', (_request, socket) => {
    refuse('method');
    socket.end(statusLine('405 Method Not Allowed'));
    (socket as Socket).destroySoon();
  });
  // earlier errors concern the port; `listen` handles them
  server.once('listening', () => {
    // an error such as too many open files affects one incoming connection; the server may accept later connections
    server.on('error', (error) => log.error('failed accepting a connection', { port: name, error }));
  });
}

async function serve(
  { handler, log }: Port,
  request: IncomingMessage,
  response: ServerResponse,
  target: RequestTarget,
): Promise<void> {
  try {
    await handler(request, response, target);
  } catch (error) {
    log.error('failed serving request', { path: target.path, error });
    if (!response.headersSent) answer(response, 500, `${errorText(error)}\n`);
    else response.destroy();
  }
}

/**
 * Parses a path, or a whole URL from a proxy. Returns undefined if the text is neither. Does not decode percent-encoding in
 * the path.
 */
export function targetOf(url: string | undefined): RequestTarget | undefined {
  if (url === undefined) return undefined;
  const own = url.startsWith('/') ? url : /^https?:\/\/[^/?#]*(\/.*)$/i.exec(url)?.[1];
  if (own === undefined) return undefined;
  const end = own.search(/[?#]/);
  if (end === -1) return { path: own, query: new URLSearchParams() };
  return { path: own.slice(0, end), query: new URLSearchParams(own[end] === '?' ? own.slice(end + 1) : '') };
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** Returns the oldest idle connection, or the oldest one if all are busy. Maps list their keys in order of insertion. */
function oldest(connections: ReadonlyMap<Socket, number>): Socket {
  const [first, ...others] = connections;
  const idle = [first, ...others.slice(0, -1)].find((connection) => connection?.[1] === 0) ?? first;
  if (idle === undefined) throw new RangeError('Cannot choose a connection: no connection exists');
  return idle[0];
}

const statusLine = (status: string): string => `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const refusalOf = (code: string | undefined): string => statusLine(REFUSALS[code ?? ''] ?? '400 Bad Request');

export function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body);
}

/** Address to listen on, and the setting that a user must change if listening fails. */
interface ListenOptions {
  readonly port: number;
  /** All addresses if undefined. */
  readonly host?: string | undefined;
  readonly setting: string;
}

/** Starts listening and returns the port. @throws Error with the port, the cause and the setting if this fails */
export function listen(server: Server, options: ListenOptions): Promise<number> {
  const { port, host } = options;
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      reject(new Error(listenFailure(error.code, options), { cause: error }));
    server.once('error', failed);
    server.listen({ port, ...defined({ host }) }, () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function listenFailure(code: string | undefined, { port, host, setting }: ListenOptions): string {
  const where = host === undefined ? `port ${port}` : `port ${port} of ${host}`;
  switch (code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${where}: another process uses the port; end that process or set ${setting} to another port`;
    case 'EACCES':
      return `Cannot listen on ${where}: this user must not use the port; set ${setting} to a port of 1024 or higher`;
    case 'EADDRNOTAVAIL':
      return `Cannot listen on ${where}: this machine does not have the address; set ${setting} to one of its addresses`;
    default:
      return `Cannot listen on ${where}: set ${setting} to another port or address`;
  }
}

export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
