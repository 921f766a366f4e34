/** Reads debug data from a running operator. */

/** Default URL of the metrics port with `kubectl port-forward`. */
export const DEFAULT_SERVER = 'http://127.0.0.1:8080';
const FORWARD = 'kubectl port-forward -n kube-system deployment/karpenter 8080';

/**
 * Reads data from a path of an operator's metrics port.
 *
 * @param server URL of the metrics port; `http://` is optional, and so is the host for a port of this machine
 * @throws Error with a remedy if the operator cannot be reached
 */
export async function askOperator<T>(server: string, path: string): Promise<T> {
  const url = addressOf(server, path);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new Error(
      `${url} cannot be reached; check that the operator is running and that its metrics port is forwarded, for example with ${FORWARD}`,
      { cause: error },
    );
  }
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} returned HTTP status ${response.status}: ${text.trim()}`);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(`${url} did not return JSON; check that the address is the metrics port of the operator`, {
      cause: error,
    });
  }
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
