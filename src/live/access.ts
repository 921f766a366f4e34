/** Access control of the live page. The page permits no writes, but the cluster data that it shows is confidential. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Foreign, foreignnessOf } from '../process/foreign-pages.ts';

const COOKIE = 'karpenter_live';

export interface Access {
  /** True if the page is served only on loopback. The Host header must then name a loopback host. */
  readonly isLocal: boolean;
  /** Required token. Empty if no token is required. */
  readonly token: string;
}

/** `enter` sets the cookie and removes the token from the address. */
type Admission = 'admitted' | 'enter' | 'no-token' | Foreign;

export function admission({ headers }: IncomingMessage, query: URLSearchParams, { isLocal, token }: Access): Admission {
  const foreign = foreignnessOf({ headers }, isLocal);
  if (foreign !== undefined) return foreign;
  if (token === '') return 'admitted';
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (isSame(bearer, token) || isSame(cookieOf(headers.cookie), proofOf(token))) return 'admitted';
  return isSame(query.get('token') ?? undefined, token) ? 'enter' : 'no-token';
}

/** Returns the cookie for the response to `enter`. The cookie proves knowledge of the token but does not contain it. */
export const cookieFor = (token: string): string => `${COOKIE}=${proofOf(token)}; Path=/; HttpOnly; SameSite=Strict`;

const proofOf = (token: string): string => createHash('sha256').update(`karpenter live page ${token}`).digest('hex');

function cookieOf(header: string | undefined): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

/** Compares two texts in a time that does not depend on the position of the first difference. */
function isSame(given: string | undefined, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(expected));
}
