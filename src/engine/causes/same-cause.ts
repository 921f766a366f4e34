/** Groups pods that wait for the same change. The command line, `top` and the live page use these groups. */
import type { PodVerdict } from './pod-verdict.ts';

/** The reasons of all NodePools, which follow a cause. */
const DETAILS = / Details: .*$/s;
/** Requests and requirements of a single pod within a reason. */
const OWN_REQUESTS = /, (?:requirements|resources)=.*?(?=; |$)/gm;

/** Removes the reasons of all NodePools from a text that begins with the cause. */
export const withoutDetails = (text: string): string => text.replace(DETAILS, '');

/** Removes the requests of the pod from a reason, so that equal reasons of different pods can be grouped. */
export const withoutRequests = (reason: string): string => reason.replaceAll(OWN_REQUESTS, '');

/**
 * Returns a text that is equal for pods that wait for the same change, although they may request different amounts.
 */
export function causeKey({
  code,
  text,
  cause,
}: Pick<PodVerdict, 'text' | 'cause'> & { readonly code: string }): string {
  if (cause === undefined) return JSON.stringify([code, withoutRequests(withoutDetails(text))]);
  const { object, field, offered } = cause;
  return JSON.stringify([code, cause.code, object, field, offered]);
}
