/** Who may see the live page. It has no writes; what it shows of a cluster is still nobody else's business. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Foreign, foreignnessOf } from '../process/foreign-pages.ts';

const COOKIE = 'karpenter_live';

export interface Access {
  /** Served on loopback alone: the Host header has to say so. */
  readonly isLocal: boolean;
  /** Empty: none is asked for. */
  readonly token: string;
}

/** `enter` sets the cookie and takes the token out of the address. */
type Admission = 'admitted' | 'enter' | 'no-token' | Foreign;

export function admission({ headers }: IncomingMessage, query: URLSearchParams, { isLocal, token }: Access): Admission {
  const foreign = foreignnessOf({ headers }, isLocal);
  if (foreign !== undefined) return foreign;
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
