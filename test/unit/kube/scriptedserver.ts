/** An HTTP server with scripted responses. It serves one request at a time, in the order of arrival. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export type Answer = (seen: Seen, response: ServerResponse) => void | Promise<void>;

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Sets the responses to the next requests, in order. The last response is repeated. */
  script(...answers: Answer[]): void;
  close(): Promise<void>;
}

export async function scriptedServer(): Promise<ScriptedServer> {
  let answers: Answer[] = [];
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const text = Buffer.concat(chunks).toString();
    const entry: Seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    seen.push(entry);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    await answer?.(entry, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    script: (...next) => {
      answers = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

export const status = (code: number, reason: string, message: string, headers = {}): Answer =>
  json({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, code, headers);

/** Closes the connection without a response. */
export const hangUp: Answer = (_, response) => {
  response.destroy();
};
