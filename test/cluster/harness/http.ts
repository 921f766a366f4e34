/** Plain requests to an API server, with complete responses even for failures. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Credentials } from '../../support/kube-api.ts';

export interface Request {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** An object is sent as JSON, a string unchanged. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

export interface Answer {
  readonly code: number;
  readonly contentType: string;
  /** Values of the Warning headers. */
  readonly warnings: readonly string[];
  /** Parsed if it is JSON. */
  readonly body: unknown;
}

export interface Line {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
}

export interface Server {
  readonly url: string;
  send(request: Request): Promise<Answer>;
  /**
   * Returns the events of a watch until `enough` returns true, the server ends the watch, or ten seconds have passed.
   */
  watch(path: string, enough: (events: readonly Line[]) => boolean, accept?: string): Promise<readonly Line[]>;
  close(): void;
}

const WATCH_LIMIT_MS = 10_000;
const MOST_TRIES = 6;

export function serverAt(url: string, { token, certificateAuthority }: Credentials = {}): Server {
  const secure = url.startsWith('https:');
  const agent = secure
    ? new HttpsAgent({ keepAlive: true, ca: certificateAuthority })
    : new HttpAgent({ keepAlive: true });

  const open = (one: Request, signal?: AbortSignal): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const body = bodyOf(one);
      const send = secure ? httpsRequest : httpRequest;
      const headers = { ...headersOf(one, body), ...(token ? { authorization: `Bearer ${token}` } : {}) };
      send(new URL(one.path, url), { method: one.method, agent, headers, ...(signal ? { signal } : {}) })
        .on('response', resolve)
        .on('error', reject)
        .end(body);
    });

  return {
    url,
    async send(one) {
      for (let attempt = 1; ; attempt += 1) {
        const response = await open(one);
        const text = await textOf(response);
        const code = response.statusCode ?? 0;
        const isBusy = code === 429 && !one.path.endsWith('/eviction');
        if (!isBusy || attempt === MOST_TRIES) {
          const warnings = response.headersDistinct.warning ?? [];
          return { code, contentType: response.headers['content-type'] ?? '', warnings, body: parsed(text) };
        }
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
      }
    },
    async watch(path, enough, accept) {
      const events: Line[] = [];
      const life = new AbortController();
      const limit = setTimeout(() => life.abort(), WATCH_LIMIT_MS);
      try {
        const response = await open({ method: 'GET', path, ...(accept ? { accept } : {}) }, life.signal);
        for await (const line of linesOf(response)) {
          events.push(line);
          if (enough(events)) break;
        }
        response.destroy();
      } catch (error) {
        if (!life.signal.aborted) throw error;
      } finally {
        clearTimeout(limit);
      }
      return events;
    },
    close: () => agent.destroy(),
  };
}

function bodyOf({ body }: Request): string | undefined {
  if (body === undefined || typeof body === 'string') return body;
  return JSON.stringify(body);
}

const headersOf = (
  { accept = 'application/json', contentType = 'application/json' }: Request,
  body: string | undefined,
): Record<string, string | number> => ({
  accept,
  ...(body === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }),
});

async function* linesOf(response: IncomingMessage): AsyncIterable<Line> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Line;
  }
  // The error of a failed watch may have no final newline.
  if (rest !== '') yield JSON.parse(rest) as Line;
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
