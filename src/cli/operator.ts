/** Reads debug data from a running operator. */
import { messageOf } from '#lib';

/** Default URL of the metrics port with `kubectl port-forward`. */
export const DEFAULT_SERVER = 'http://127.0.0.1:8080';
const FORWARD = 'kubectl port-forward -n kube-system deployment/karpenter 8080';

interface AnswerLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** Several times as much as the operator of a cluster with 15,000 nodes needs. */
const LIMITS: AnswerLimits = { bytes: 128 * 2 ** 20, ms: 60_000 };
/** Maximum number of characters of an error text. */
const MOST_ERROR_TEXT = 500;

/**
 * Reads data from a path of an operator's metrics port.
 *
 * @param server URL of the metrics port; `http://` is optional, and so is the host for a port of this machine
 * @throws Error with a remedy if the operator cannot be reached, or if its response is too long or takes too long
 */
export async function askOperator<T>(server: string, path: string, limits: AnswerLimits = LIMITS): Promise<T> {
  const url = addressOf(server, path);
  const signal = AbortSignal.timeout(limits.ms);
  let response: Response;
  try {
    // the operator never redirects, and a redirect could lead to a server that only this machine reaches
    response = await fetch(url, { signal, redirect: 'error' });
  } catch (error) {
    if (signal.aborted) throw tooSlow(url, limits);
    throw new Error(
      `${url} cannot be reached; check that the operator is running and that its metrics port is forwarded, for example with ${FORWARD}`,
      { cause: error },
    );
  }
  const text = await textOf(response, limits.bytes).catch((error: unknown) => {
    if (signal.aborted) throw tooSlow(url, limits);
    throw new Error(`${url}: ${messageOf(error)}; check that the address is the metrics port of the operator`, {
      cause: error,
    });
  });
  if (!response.ok)
    throw new Error(`${url} returned HTTP status ${response.status}: ${text.trim().slice(0, MOST_ERROR_TEXT)}`);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(`${url} did not return JSON; check that the address is the metrics port of the operator`, {
      cause: error,
    });
  }
}

/** Content of `/debug/pause`. The format is public. */
export interface PauseView {
  /** Sentence with the scope, the end and the reason of a pause. Absent without a pause. */
  readonly paused?: string;
  /** Sentence on decisions that are reported and not carried out. Absent if all are carried out. */
  readonly observed?: string;
}

/** Returns the sentences about a pause and an observation. They are absent for an operator of an earlier version. */
export const restraintOf = (server: string): Promise<PauseView> =>
  askOperator<Readonly<Record<string, unknown>> | null>(server, '/debug/pause').then(
    (view) => ({
      ...(typeof view?.paused === 'string' && { paused: view.paused }),
      ...(typeof view?.observed === 'string' && { observed: view.observed }),
    }),
    () => ({}),
  );

const tooSlow = (url: URL, { ms }: AnswerLimits): Error =>
  new Error(`${url} did not respond within ${ms / 1000} s; check that the operator is running and not overloaded`);

/** Reads a body. @throws Error if the body, after decompression, is too long */
export async function textOf({ body }: Response, mostBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > mostBytes) throw new Error(`the response is longer than ${mostBytes} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Parses the address. A plain number is a port of this machine, because URL would read it as an address such as
 * 0.0.31.144.
 */
function addressOf(server: string, path: string): URL {
  const isPort = /^\d+$/.test(server);
  const host = isPort ? `127.0.0.1:${server}` : server;
  const url = URL.parse(path, /^https?:\/\//.test(host) ? host : `http://${host}`);
  if (url === null)
    throw new Error(
      `--server: "${server}" is not a valid ${isPort ? 'port' : 'URL or port'}; use for example ${DEFAULT_SERVER}`,
    );
  if (/^https?:\/\/\d+(?:[/:]|$)/.test(server))
    throw new Error(`--server: "${server}" has no host; for a port of this machine, use http://127.0.0.1:PORT`);
  return url;
}
