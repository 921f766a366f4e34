/** Sends the cases of CRD validation to an API server. */
import { CAPACITY_BUFFER, EC2_NODE_CLASS, type Kind, NODE_CLAIM, NODE_OVERLAY, NODE_POOL } from '#api/objects';
import { collectionPath } from '../../support/kube-api.ts';
import type { CrdCase, Outcome } from '../../unit/api/crdcases.ts';
import type { Answer, Server } from './http.ts';

const KINDS: readonly Kind[] = [NODE_POOL, NODE_CLAIM, EC2_NODE_CLASS, NODE_OVERLAY, CAPACITY_BUFFER];

type Json = Readonly<Record<string, unknown>>;

/** Paths of the collections that a server must serve before cases are sent. */
export const collections = (): readonly string[] => KINDS.map((kind) => collectionPath(kind, 'default'));

/** Returns the server's outcome for a case. Creates the objects of updates first and deletes them afterwards. */
export async function outcomeAt(server: Server, test: CrdCase & { readonly keepName?: boolean }): Promise<Outcome> {
  const kind = KINDS.find((one) => one.kind === test.kind);
  if (kind === undefined) throw new RangeError(`Case ${test.id} is of an unknown kind ${test.kind}`);
  const path = pathOf(kind, test);
  const query = new URLSearchParams({ dryRun: 'All', ...(test.strict ? { fieldValidation: 'Strict' } : {}) });
  const object = named(test.object, kind, test);
  if (test.before === undefined) {
    return outcomeOf(await server.send({ method: 'POST', path: `${path}?${query}`, body: object }), test);
  }
  const item = `${path}/${String((object.metadata as Json).name)}`;
  await server.send({ method: 'DELETE', path: item });
  const created = await server.send({ method: 'POST', path, body: named(test.before, kind, test) });
  if (created.code >= 300)
    throw new Error(`Case ${test.id}: its first object was rejected: ${JSON.stringify(created.body)}`);
  try {
    const { resourceVersion } = (created.body as { readonly metadata: Json }).metadata;
    const body = { ...object, metadata: { ...(object.metadata as Json), resourceVersion } };
    const target = test.subresource ? `${item}/${test.subresource}` : item;
    return outcomeOf(await server.send({ method: 'PUT', path: `${target}?${query}`, body }), test);
  } finally {
    await server.send({ method: 'DELETE', path: item });
  }
}

/** A case may use a version that is not served. */
function pathOf(kind: Kind, { object, subresource }: CrdCase): string {
  const given = typeof object.apiVersion === 'string' && subresource !== 'scale' ? object.apiVersion : undefined;
  const [group = kind.group, version = kind.version] = given?.split('/') ?? [];
  return collectionPath({ ...kind, group, version }, 'default');
}

const named = (object: Json, kind: Kind, test: CrdCase & { readonly keepName?: boolean }): Json => ({
  ...object,
  metadata: {
    ...(object.metadata as Json | undefined),
    ...(test.keepName ? {} : { name: `crd-${test.id}` }),
    ...(kind.namespaced ? { namespace: 'default' } : {}),
  },
});

interface Body {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly field?: string; readonly reason: string; readonly message: string }[];
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

function outcomeOf({ code, body }: Answer, test: CrdCase): Outcome {
  const { details, reason = '', message = '', ...parts } = body as Body;
  if (code < 300) return { accepted: true, returned: test.subresource === 'status' ? parts.status : parts.spec };
  const causes = (details?.causes ?? [])
    .filter((cause) => !cause.message.includes('some validation rules were not checked'))
    .map((cause) => ({ ...cause, field: cause.field === '<nil>' ? fieldIn(cause.message) : (cause.field ?? '') }));
  // A rejection of the whole request names no field.
  return { accepted: false, causes: causes.length > 0 ? causes : [{ field: '', reason, message }] };
}

/** Path in the message of a cause without a field. */
const fieldIn = (message: string): string =>
  / in (\S+)$|: "(\S+)" must validate/.exec(message)?.slice(1).find(Boolean) ?? '';
