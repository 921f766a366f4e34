/** What a trace may create: everything that decides where pods may run, and nothing that somebody else makes of it. */
import { apiVersionOf, type Kind } from '../api/kinds.ts';
import { TRACE_KINDS } from './trace/kinds.ts';

export const PLAYABLE_KINDS: readonly Kind[] = TRACE_KINDS;

const BY_NAME = new Map(PLAYABLE_KINDS.map((each) => [`${apiVersionOf(each)} ${each.kind}`, each]));

/** Undefined for what is not played. */
export const playableKind = ({ apiVersion, kind: name }: { readonly apiVersion: string; readonly kind: string }) =>
  BY_NAME.get(`${apiVersion} ${name}`);
