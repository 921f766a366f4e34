/**
 * Creates a trace from a Kubernetes audit log with JSON lines of audit.k8s.io/v1. The log contains complete objects
 * at level RequestResponse, and only requests at level Request. At level Metadata, it contains only the fact that an
 * object was written. Missing objects are counted by reason.
 */

import { apiVersionOf, type Kind, type KubeObject, RESOURCE_SLICE } from '#api/objects';
import { InputError, isObject, type JsonObject, parseJson, timeOf } from '#lib';
import { openLines, TRACE_KINDS } from '#replay/trace';
import { AuditedDevices, DEVICE_SOURCES } from './audit-devices.ts';
import { AuditHistory } from './history.ts';

const fieldsAt = (fields: JsonObject, name: string): JsonObject =>
  isObject(fields[name]) ? (fields[name] as JsonObject) : {};
const textAt = (fields: JsonObject, name: string): string => (typeof fields[name] === 'string' ? fields[name] : '');

interface FromAudit {
  readonly history: AuditHistory;
  /** DRA drivers and declared devices, with which the trace begins. */
  readonly devices: readonly KubeObject[];
  /** Time of the first event, in milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  /** Number of lines in the logs. `changes` counts the lines that changed an object of a trace. */
  readonly lines: number;
  readonly changes: number;
}

interface AuditOptions {
  readonly limitBytes: number;
  readonly namespaces?: readonly string[] | undefined;
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const BY_RESOURCE = new Map([...TRACE_KINDS, ...DEVICE_SOURCES].map((kind) => [`${kind.group}/${kind.plural}`, kind]));
const DESCRIBES_DEVICES: ReadonlySet<Kind> = new Set(DEVICE_SOURCES);
/** Subresources that change an object of a trace. */
const SUBRESOURCES: ReadonlySet<string> = new Set(['', 'scale', 'status', 'eviction']);

/**
 * @param paths paths of the logs, oldest first, each sorted by time
 * @throws InputError with file and line if a line is not an audit event, or if the logs contain no events
 */
export async function fromAudit(paths: readonly string[], options: AuditOptions): Promise<FromAudit> {
  let reading: Reading | undefined;
  let lines = 0;
  for (const path of paths) {
    const source = await openLines(path);
    for await (const { text, number } of source.lines()) {
      if (text.trim() === '') continue;
      lines += 1;
      const event = eventIn(text, `${source.name}, line ${number}`);
      const ms = timeOf(textAt(event, 'stageTimestamp') || textAt(event, 'requestReceivedTimestamp'));
      if (Number.isNaN(ms))
        throw new InputError(`${source.name}, line ${number}`, 'stageTimestamp is missing or not a valid time');
      reading ??= new Reading(ms, options);
      reading.take(event, ms);
    }
  }
  if (reading === undefined) throw new InputError(paths.join(', '), 'no audit events found');
  return { ...reading.result(), lines };
}

function eventIn(text: string, where: string): JsonObject {
  let event: unknown;
  try {
    event = parseJson(text);
  } catch (error) {
    throw new InputError(where, `${(error as Error).message}; the log must contain one JSON event per line`, {
      cause: error,
    });
  }
  if (!isObject(event) || event.kind !== 'Event' || !textAt(event, 'apiVersion').startsWith('audit.k8s.io/'))
    throw new InputError(where, 'is not an audit event; kind must be Event and apiVersion audit.k8s.io/v1');
  return event;
}

class Reading {
  readonly #history: AuditHistory;
  readonly #devices = new AuditedDevices();
  readonly #startMs: number;
  #endMs: number;
  #changes = 0;

  constructor(startMs: number, options: AuditOptions) {
    this.#startMs = startMs;
    this.#endMs = startMs;
    this.#history = new AuditHistory({ startMs, ...options });
  }

  result(): Omit<FromAudit, 'lines'> {
    const [history, devices] = [this.#history, this.#devices];
    if (devices.unplaced > 0) history.miss(UNPLACED, devices.unplaced);
    const [startMs, endMs, changes] = [this.#startMs, this.#endMs, this.#changes];
    return { history, devices: devices.objects(), startMs, endMs, changes };
  }

  take(event: JsonObject, ms: number): void {
    this.#endMs = Math.max(this.#endMs, ms);
    const ref = fieldsAt(event, 'objectRef');
    const kind = BY_RESOURCE.get(`${textAt(ref, 'apiGroup')}/${textAt(ref, 'resource')}`);
    if (kind === undefined || !WRITES.has(textAt(event, 'verb')) || textAt(event, 'stage') !== 'ResponseComplete')
      return;
    const { code = 200 } = fieldsAt(event, 'responseStatus') as { readonly code?: number };
    if (code >= 300 || !SUBRESOURCES.has(textAt(ref, 'subresource'))) return;
    if (DESCRIBES_DEVICES.has(kind)) {
      this.#describe({ event, kind, ref, ms });
      return;
    }
    this.#changes += 1;
    this.#change({ event, kind, ref, ms });
  }

  /** Reads an object that describes devices. Ignores its deletion, because the trace begins with all observed drivers. */
  #describe(change: Change): void {
    if (textAt(change.event, 'verb').startsWith('delete')) return;
    const object = writtenObject(change);
    if (object !== undefined) this.#devices.put(object);
    else if (change.kind === RESOURCE_SLICE) this.#history.miss(withoutObject(change));
  }

  #change(change: Change): void {
    const { event, ref, ms } = change;
    const [verb, subresource] = [textAt(event, 'verb'), textAt(ref, 'subresource')];
    if (verb === 'deletecollection') this.#history.miss('deletecollection does not list the deleted objects');
    else if (subresource === 'scale') this.#scale(change);
    else if (verb === 'delete') this.#history.remove(nameOf(change), ms);
    else if (subresource === 'eviction') this.#history.evicted(nameOf(change));
    else this.#write(change);
  }

  #write(change: Change): void {
    const { event, ref, ms } = change;
    const object = writtenObject(change);
    if (object !== undefined) {
      this.#history.put(object, ms);
      return;
    }
    if (textAt(ref, 'subresource') === 'status') return;
    // a patch may change only the number of replicas
    if (textAt(event, 'verb') === 'patch' && this.#patchedReplicas(change)) return;
    this.#history.miss(withoutObject(change));
  }

  #scale(change: Change): void {
    const { event, kind, ms } = change;
    const replicas = replicasIn(fieldsAt(event, 'responseObject')) ?? replicasIn(fieldsAt(event, 'requestObject'));
    if (replicas === undefined) {
      this.#history.miss(`${kind.kind} was scaled, but the log does not contain the replicas; use the level Request`);
      return;
    }
    if (!this.#history.scale(nameOf(change), replicas, ms))
      this.#history.miss(`${kind.kind} was scaled, but it was created before the start of the log`);
  }

  #patchedReplicas(change: Change): boolean {
    const replicas = replicasIn(fieldsAt(change.event, 'requestObject'));
    return replicas !== undefined && this.#history.scale(nameOf(change), replicas, change.ms);
  }
}

interface Change {
  readonly event: JsonObject;
  readonly kind: Kind;
  readonly ref: JsonObject;
  readonly ms: number;
}

const UNPLACED =
  'ResourceSlice was written, but the log does not contain the instance type and the NodePool of its node';

const withoutObject = ({ event, kind }: Change): string =>
  `${kind.kind} was written, but the level ${textAt(event, 'level')} does not contain the object`;

const namesOf = (ref: JsonObject): { readonly name: string; readonly namespace?: string } => {
  const namespace = textAt(ref, 'namespace');
  // the namespace of a Namespace is its own name
  return { name: textAt(ref, 'name'), ...(namespace === '' || ref.resource === 'namespaces' ? {} : { namespace }) };
};

const nameOf = ({ kind, ref }: Change): Pick<KubeObject, 'kind' | 'metadata'> => ({
  kind: kind.kind,
  metadata: namesOf(ref),
});

function replicasIn(object: JsonObject): number | undefined {
  const { replicas } = fieldsAt(object, 'spec');
  return typeof replicas === 'number' ? replicas : undefined;
}

/** Returns the complete written object from the response, or from the request if it creates or replaces the object. */
function writtenObject({ event, kind, ref, ms }: Change): KubeObject | undefined {
  const response = fieldsAt(event, 'responseObject');
  const request = fieldsAt(event, 'requestObject');
  const isWhole = (object: JsonObject): boolean =>
    object.kind === kind.kind && textAt(fieldsAt(object, 'metadata'), 'name') !== '';
  const isReplaced = ['create', 'update'].includes(textAt(event, 'verb'));
  const object = [response, ...(isReplaced ? [request] : [])].find(isWhole);
  if (object === undefined) return undefined;
  const metadata = fieldsAt(object, 'metadata');
  const { namespace } = namesOf(ref);
  return {
    ...object,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      ...metadata,
      ...(namespace === undefined ? {} : { namespace }),
      // objects of requests have no creation time
      creationTimestamp: textAt(metadata, 'creationTimestamp') || new Date(ms).toISOString(),
    },
  } as unknown as KubeObject;
}
