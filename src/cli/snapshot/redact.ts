/**
 * Removes fields that may hold a secret and do not affect decisions: `api/kept-fields.ts` lists the fields that stay.
 * Digests replace values that a drift hash covers. If a hash matched before, it is computed again, so that it still
 * matches.
 */
import { KEPT_DEVICE_FIELDS } from '#api/devices';
import { NODEPOOL_HASH_VERSION, nodePoolHash } from '#api/hashes';
import {
  AWS_GROUP,
  CONFIG_MAP,
  EVENT,
  KARPENTER_GROUP,
  KARPENTER_TS_GROUP,
  KEPT_ANNOTATIONS,
  KEPT_FIELDS,
  type KubeEvent,
  type KubeObject,
  METADATA,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  type NodePool,
  type StringMap,
} from '#api/objects';
import { isObject, type JsonObject, own, put, tryRun } from '#lib';
import { nominatedClaim } from '../objects/nominations.ts';
import { redactedAnnotation, redactedUserData } from '../objects/redaction.ts';
import { kept } from './keep.ts';
import { ownKinds } from './own-kinds.ts';
import { declarationParts } from './redacted-declaration.ts';

/** API groups of this operator's custom resources, and of their predecessors. */
const OWN_GROUPS: readonly string[] = [KARPENTER_GROUP, KARPENTER_TS_GROUP, AWS_GROUP, 'autoscaling.x-k8s.io'];

/** Images of autoscalers, which contain the installed version. */
const CONTROLLER_IMAGE = /(?:^|\/)(?:karpenter\/controller|cluster-autoscaler)(?:[:@]|$)/;

interface Hashes {
  readonly before: string;
  readonly after: string;
}

/** Redacts objects. Stores the hashes of NodePools, because their NodeClaims follow them. */
export class Redactor {
  readonly #hashes = new Map<string, Hashes>();

  redacted(object: KubeObject): KubeObject {
    const [group = ''] = object.apiVersion.split('/');
    if (object.kind === CONFIG_MAP.kind) return withMetadata(object, declarationParts(object));
    if (object.kind === EVENT.kind) return withMetadata(object, { ...parts(object), ...nominationParts(object) });
    if (!OWN_GROUPS.includes(group)) return withMetadata(object, parts(object));
    const safe = withMetadata(object, ownParts(object));
    if (object.kind === 'NodePool' && object.apiVersion.endsWith('/v1')) return this.#pool(object as NodePool, safe);
    return object.kind === 'NodeClaim' ? this.#claim(safe) : safe;
  }

  #pool(pool: NodePool, safe: KubeObject): KubeObject {
    const [before, after] = [hashOf(pool), hashOf(safe as NodePool)];
    if (before === undefined || after === undefined || before === after) return safe;
    this.#hashes.set(pool.metadata.name, { before, after });
    return rehashed(safe, { before, after });
  }

  #claim(safe: KubeObject): KubeObject {
    const hashes = this.#hashes.get(own(safe.metadata.labels, NODEPOOL_LABEL) ?? '');
    return hashes === undefined ? safe : rehashed(safe, hashes);
  }
}

/** Returns undefined if the operator cannot compute the hash, either. */
const hashOf = (pool: NodePool): string | undefined => tryRun(() => nodePoolHash(pool));

function rehashed(object: KubeObject, { before, after }: Hashes): KubeObject {
  const { annotations = {} } = object.metadata;
  const matches =
    own(annotations, NODEPOOL_HASH_ANNOTATION) === before &&
    own(annotations, NODEPOOL_HASH_VERSION_ANNOTATION) === NODEPOOL_HASH_VERSION;
  if (!matches) return object;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...annotations, [NODEPOOL_HASH_ANNOTATION]: after } },
  };
}

const isKept = ([key]: readonly [string, unknown]): boolean => KEPT_ANNOTATIONS.has(key);

function keptAnnotations(annotations: unknown): JsonObject | undefined {
  if (!isObject(annotations)) return undefined;
  const found = Object.entries(annotations).filter(isKept);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function metadataOf(metadata: unknown): JsonObject {
  const annotations = isObject(metadata) ? keptAnnotations(metadata.annotations) : undefined;
  return { ...(kept(metadata, METADATA) as JsonObject), ...(annotations && { annotations }) };
}

const withMetadata = (object: KubeObject, rest: JsonObject): KubeObject =>
  ({ apiVersion: object.apiVersion, kind: object.kind, metadata: metadataOf(object.metadata), ...rest }) as never;

/** Returns the kept parts of an object of a built-in kind. */
function parts(object: KubeObject): JsonObject {
  const found = (kept(object, own(KEPT_FIELDS, object.kind) ?? own(KEPT_DEVICE_FIELDS, object.kind) ?? {}) ??
    {}) as Record<string, unknown>;
  const given = object as unknown as JsonObject;
  const spec = isObject(given.spec) ? given.spec : {};
  const templates: readonly [holder: unknown, of: unknown][] = [
    [found, given],
    [found.spec, spec],
  ];
  for (const [holder, of] of templates) {
    if (!isObject(holder) || !isObject(holder.template) || !isObject(of) || !isObject(of.template)) continue;
    const template = holder.template as Record<string, unknown>;
    if (isObject(of.template.metadata)) template.metadata = metadataOf(of.template.metadata);
    keepImages(template.spec, of.template.spec);
  }
  return found;
}

/** Returns the NodeClaim in the message of a nomination, because it affects decisions. */
function nominationParts(object: KubeObject): JsonObject {
  const claim = nominatedClaim(object as KubeEvent);
  return claim === undefined ? {} : { message: `nodeclaim/${claim}` };
}

/** Keeps images of autoscalers, which contain the version that runs in the cluster. */
function keepImages(spec: unknown, given: unknown): void {
  if (!isObject(spec) || !isObject(given) || !Array.isArray(spec.containers) || !Array.isArray(given.containers))
    return;
  for (const [at, container] of given.containers.entries()) {
    const { image } = isObject(container) ? container : {};
    if (typeof image === 'string' && CONTROLLER_IMAGE.test(image)) spec.containers[at].image = image;
  }
}

/**
 * Returns the kept parts of a custom resource: the fields of its schema, with digests of user data and of the
 * annotations of its nodes.
 */
function ownParts(object: KubeObject): JsonObject {
  const { apiVersion, kind } = object;
  const fields = kept(object, own(ownKinds(), `${apiVersion} ${kind}`) ?? {});
  const found = withoutUserData(fields) as Record<string, unknown>;
  const { spec, status } = found;
  if (isObject(spec)) found.spec = kind === 'Provisioner' ? provisioner(spec) : pool(spec);
  if (isObject(status)) found.status = statusOf(kind, status);
  return found;
}

/** Redacts user data, including user data of inline providers in alpha versions. */
function withoutUserData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUserData);
  if (!isObject(value)) return value;
  const found: Record<string, unknown> = {};
  for (const [field, inner] of Object.entries(value))
    put(
      found,
      field,
      field === 'userData' && typeof inner === 'string' ? redactedUserData(inner) : withoutUserData(inner),
    );
  return found;
}

function redactedAnnotations(annotations: unknown): StringMap | undefined {
  if (!isObject(annotations)) return undefined;
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [
      key,
      KEPT_ANNOTATIONS.has(key) ? String(value) : redactedAnnotation(String(value)),
    ]),
  );
}

function provisioner(spec: JsonObject): JsonObject {
  const annotations = redactedAnnotations(spec.annotations);
  return annotations === undefined ? spec : { ...spec, annotations };
}

function pool(spec: JsonObject): JsonObject {
  const { template } = spec;
  if (!isObject(template) || !isObject(template.metadata)) return spec;
  const annotations = redactedAnnotations(template.metadata.annotations);
  if (annotations === undefined) return spec;
  return { ...spec, template: { ...template, metadata: { ...template.metadata, annotations } } };
}

/**
 * Keeps the messages of NodePools and NodeClasses, which `explain` prints. Removes the messages of NodeClaims, which
 * may contain texts of AWS and are not used.
 */
function statusOf(kind: string, status: JsonObject): JsonObject {
  if (!Array.isArray(status.conditions)) return status;
  const conditions = status.conditions.map((condition: unknown) => {
    if (!isObject(condition)) return condition;
    const { message, ...rest } = condition;
    if (typeof message !== 'string' || ['NodeClaim', 'Machine'].includes(kind)) return rest;
    return { ...rest, message: withoutQuotes(message) };
  });
  return { ...status, conditions };
}

/** Removes the rest of a message after user data is mentioned, because a parser's error quotes a part of it. */
function withoutQuotes(message: string): string {
  const at = message.search(/user ?data/i);
  const end = at < 0 ? -1 : message.indexOf(':', at);
  return end < 0 ? message : `${message.slice(0, end)}: redacted`;
}
