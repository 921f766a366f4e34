/**
 * Refuses requests that a page of another site makes a browser send. Such a page reaches loopback, and with it a
 * `kubectl port-forward`, by its address or by a name of its own that resolves to 127.0.0.1 (DNS rebinding).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer } from './http-server.ts';

/** Names under which browsers reach loopback. A name that another site rebinds to 127.0.0.1 does not match. */
const LOCAL_NAMES = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** Permitted values of the `Sec-Fetch-Site` header: the page itself, or an address that the user entered. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** Reason for refusing a request. */
export type Foreign = 'wrong-host' | 'cross-site';

interface Refusal {
  readonly status: number;
  readonly text: string;
}

const REFUSALS: Readonly<Record<Foreign, Refusal>> = {
  'wrong-host': {
    status: 421,
    text: 'the Host header must be localhost or 127.0.0.1: open the address with one of these names\n',
  },
  'cross-site': {
    status: 403,
    text: 'pages of other sites must not request this: enter the address in the browser instead of following a link\n',
  },
};

/**
 * Returns the reason if a page of another site may have caused the request. Clients other than browsers send no
 * `Sec-Fetch-Site`.
 * @param isLocal whether the request came through loopback, so that its `Host` must be a name of loopback
 */
export function foreignnessOf({ headers }: Pick<IncomingMessage, 'headers'>, isLocal: boolean): Foreign | undefined {
  if (isLocal && !LOCAL_NAMES.test(headers.host ?? '')) return 'wrong-host';
  const site = headers['sec-fetch-site'];
  return site === undefined || OWN_SITES.has(String(site)) ? undefined : 'cross-site';
}

export function refuseForeign(response: ServerResponse, reason: Foreign): void {
  const { status, text } = REFUSALS[reason];
  answer(response, status, text);
}
