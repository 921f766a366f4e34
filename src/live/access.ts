/** Who may see the live page. It has no writes; what it shows of a cluster is still nobody else's business. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const COOKIE = 'karpenter_live';
/** Names under which browsers reach loopback. A page elsewhere whose name turns to 127.0.0.1 comes with its own name. */
const LOCAL_NAMES = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

export interface Access {
  /** Served on loopback alone: the Host header has to say so. */
  readonly isLocal: boolean;
  /** Empty: none is asked for. */
  readonly token: string;
}

/** `enter` sets the cookie and takes the token out of the address. */
export type Admission = 'admitted' | 'enter' | 'wrong-host' | 'no-token';

export function admission({ headers }: IncomingMessage, query: URLSearchParams, { isLocal, token }: Access): Admission {
  if (isLocal && !LOCAL_NAMES.test(headers.host ?? '')) return 'wrong-host';
  if (token === '') return 'admitted';
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (isSame(bearer, token) || isSame(cookieOf(headers.cookie), proofOf(token))) return 'admitted';
  return isSame(query.get('token') ?? undefined, token) ? 'enter' : 'no-token';
}

/** For the answer to `enter`. The cookie proves that the token was known, and is not the token. */
export const cookieFor = (token: string): string => `${COOKIE}=${proofOf(token)}; Path=/; HttpOnly; SameSite=Strict`;

const proofOf = (token: string): string => createHash('sha256').update(`karpenter live page ${token}`).digest('hex');

function cookieOf(header: string | undefined): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

/** Takes the same time wherever the two differ. */
function isSame(given: string | undefined, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(expected));
}
