/**
 * Remembers learned devices of instance types without nodes, so that a NodePool without nodes can launch nodes for claims. While
 * nodes live, their devices are learned again after each restart.
 */
import type { DriverTemplate, RuntimeValues } from '#engine/devices';
import type { Kept } from '#kube/reconcilers';
import type { Timepiece } from '#lib/clock';

/** Name of the ConfigMap with the remembered templates, in the namespace of the operator. */
export const TEMPLATE_MEMORY_NAME = 'karpenter-device-samples';

/** Maximum number of remembered templates. Templates with the oldest nodes are dropped. */
const MOST_TEMPLATES = 256;
const KEPT_MS = 30 * 24 * 3_600_000;
/** Time after which the last node of a template is recorded again. */
const SEEN_AGAIN_MS = 24 * 3_600_000;

/** Template of a driver on the nodes of an instance type of a NodePool. */
export interface LearnedTemplate {
  readonly nodePool: string;
  readonly type: string;
  readonly template: DriverTemplate;
  /** Hash of the NodeClass of the nodes. Another NodeClass can publish other devices. */
  readonly nodeClassHash: string | undefined;
}

interface Remembered extends LearnedTemplate {
  readonly seenMs: number;
}

const idOf = ({ nodePool, type, template }: LearnedTemplate): string =>
  JSON.stringify([nodePool, type, template.driver]);
const placeOf = ({ nodePool, type }: Pick<LearnedTemplate, 'nodePool' | 'type'>): string =>
  JSON.stringify([nodePool, type]);

export class TemplateMemory implements Kept {
  changes = 0;
  readonly #clock: Timepiece;
  /** Least recently seen first. */
  readonly #templates = new Map<string, Remembered>();
  #byPlace: Map<string, Remembered[]> | undefined;

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Records the template of living nodes. */
  remember(learned: LearnedTemplate): void {
    const id = idOf(learned);
    const known = this.#templates.get(id);
    const nowMs = this.#clock.now();
    const isSame = known?.template === learned.template && known.nodeClassHash === learned.nodeClassHash;
    if (known !== undefined && isSame && nowMs - known.seenMs < SEEN_AGAIN_MS) return;
    this.#templates.delete(id);
    this.#templates.set(id, { ...learned, seenMs: nowMs });
    this.#changed();
  }

  /** Returns the templates of the drivers of a type. @param nodeClassHash undefined if the NodeClass is unknown now */
  of(nodePool: string, type: string, nodeClassHash: string | undefined): readonly DriverTemplate[] {
    if (this.#templates.size === 0 || nodeClassHash === undefined) return [];
    this.#byPlace ??= Map.groupBy(this.#templates.values(), placeOf);
    const nowMs = this.#clock.now();
    const own = this.#byPlace.get(placeOf({ nodePool, type })) ?? [];
    const outdated = own.filter((each) => each.nodeClassHash !== nodeClassHash || nowMs - each.seenMs > KEPT_MS);
    for (const each of outdated) this.#templates.delete(idOf(each));
    if (outdated.length > 0) this.#changed();
    return own.flatMap((each) => (outdated.includes(each) ? [] : [each.template]));
  }

  #changed(): void {
    this.changes++;
    this.#byPlace = undefined;
    for (const id of this.#templates.keys()) {
      if (this.#templates.size <= MOST_TEMPLATES) return;
      this.#templates.delete(id);
    }
  }

  *texts(): Iterable<string> {
    const all = [...this.#templates.values()].map(toStored);
    for (let count = all.length; count > 0; count = Math.floor(count / 2)) yield JSON.stringify(all.slice(-count));
    yield '[]';
  }

  restore(text: string): void {
    const stored: unknown = JSON.parse(text);
    if (!Array.isArray(stored)) throw new Error('the stored devices are not a list');
    const restored = stored.slice(-MOST_TEMPLATES).map(fromStored);
    const current = [...this.#templates];
    this.#templates.clear();
    for (const each of restored) this.#templates.set(idOf(each), each);
    for (const [id, each] of current) {
      this.#templates.delete(id);
      this.#templates.set(id, each);
    }
    this.#changed();
  }
}

/** Runtime values with their groups as an object. */
type StoredRuntime = Omit<RuntimeValues, 'groups'> & { readonly groups?: Readonly<Record<string, string>> };

type Stored = Omit<Remembered, 'template'> & {
  readonly template: Omit<DriverTemplate, 'runtime'> & { readonly runtime: readonly StoredRuntime[] };
};

const toStored = ({ template, ...rest }: Remembered): Stored => ({
  ...rest,
  template: {
    ...template,
    runtime: template.runtime.map(({ groups, ...values }) => ({
      ...values,
      ...(groups !== undefined && { groups: Object.fromEntries(groups) }),
    })),
  },
});

/** @throws Error if the value was not stored by this version */
function fromStored(value: unknown): Remembered {
  const { template, ...rest } = value as Stored;
  const isValid =
    [rest.nodePool, rest.type, template.driver].every((each) => typeof each === 'string') &&
    Number.isFinite(rest.seenMs) &&
    template.pools.every(({ pool, devices }) => typeof pool === 'string' && Array.isArray(devices));
  if (!isValid) throw new Error('a stored template is not valid');
  const runtime = template.runtime.map(
    ({ groups, ...values }): RuntimeValues => ({
      ...values,
      ...(groups !== undefined && { groups: new Map(Object.entries(groups)) }),
    }),
  );
  return { ...rest, nodeClassHash: rest.nodeClassHash, template: { ...template, runtime } };
}
