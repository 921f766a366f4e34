/** Facts that `migrate` reads from a cluster or from a file. Secrets are redacted when they are read. */
import type { KubeObject, Workload } from '#api/objects';
import { type FoundController, foundController } from '#aws/leftovers';
import { isNotFound } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { InputError, messageOf } from '../objects/errors.ts';
import type { Manifest } from '../objects/read.ts';
import { snapshotInfos } from '../objects/snapshot-info.ts';
import { CUSTOM_GROUPS, READ_KINDS } from '../snapshot/kinds.ts';
import { type Gaps, readCluster } from '../snapshot/read.ts';
import { Redactor } from '../snapshot/redact.ts';

export interface Facts {
  readonly source: 'cluster' | 'file';
  /** Returns the objects of a kind. */
  of<T extends KubeObject = KubeObject>(kind: string): readonly T[];
  /** Returns the reason why objects of a kind are unknown, or undefined if all objects were read. */
  notAsked(kind: string): string | undefined;
  /** Controllers of Karpenter and of this operator, found in Deployments. */
  readonly controllers: readonly FoundController[];
  readonly autoscalers: readonly Autoscaler[];
  /** EC2NodeClasses with custom user data, and whether it registers nodes with the taint that v1 requires. */
  readonly registersTaint: ReadonlyMap<string, boolean | undefined>;
}

export interface Autoscaler {
  readonly deployment: Workload;
  /** Flags. Undefined if a snapshot does not contain them. */
  readonly flags: readonly string[] | undefined;
}

const AUTOSCALER_IMAGE = /(?:^|\/)cluster-autoscaler(?:-\w+)?(?:[:@]|$)/;
const GLOBAL_SETTINGS = 'karpenter-global-settings';
/** Kinds that are irrelevant for a migration. */
const BESIDE_THE_POINT = new Set([
  'CSINode',
  'StorageClass',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Service',
  'ConfigMap',
  'Event',
]);

/** Kinds of Karpenter whose names also exist in other API groups, such as Machines of Cluster API. */
const OWN_KINDS = new Set(
  READ_KINDS.flatMap(({ versions: [{ group, kind }] }) => (CUSTOM_GROUPS.has(group) ? [kind] : [])),
);

const isForeign = ({ apiVersion, kind }: KubeObject): boolean =>
  OWN_KINDS.has(kind) && !CUSTOM_GROUPS.has(apiVersion.split('/')[0] ?? '');

/** Collects objects one by one. */
class Gathered {
  readonly #redactor = new Redactor();
  readonly #byKind = new Map<string, KubeObject[]>();
  readonly controllers: FoundController[] = [];
  readonly autoscalers: Autoscaler[] = [];
  readonly registersTaint = new Map<string, boolean | undefined>();

  add(object: KubeObject): void {
    if (isForeign(object)) return;
    if (object.kind === 'Deployment') this.#look(object as Workload);
    if (object.kind === 'EC2NodeClass') this.#lookAtUserData(object);
    const known = this.#byKind.get(object.kind);
    const safe = this.#redactor.redacted(object);
    if (known === undefined) this.#byKind.set(object.kind, [safe]);
    else known.push(safe);
  }

  of(kind: string): readonly KubeObject[] {
    return this.#byKind.get(kind) ?? [];
  }

  #look(deployment: Workload): void {
    const controller = foundController(deployment);
    const isNamed = deployment.metadata.labels?.['app.kubernetes.io/name'] === 'karpenter';
    if (isNamed || controller.isKarpenter) this.controllers.push(controller);
    const containers = (deployment.spec.template.spec?.containers ?? []) as readonly {
      readonly image?: string;
      readonly command?: readonly string[];
      readonly args?: readonly string[];
    }[];
    const own = containers.find(({ image = '' }) => AUTOSCALER_IMAGE.test(image));
    if (own === undefined) return;
    const given =
      own.command === undefined && own.args === undefined ? undefined : [...(own.command ?? []), ...(own.args ?? [])];
    this.autoscalers.push({ deployment, flags: given?.filter((text) => text.startsWith('-')) });
  }

  #lookAtUserData({ metadata, spec }: KubeObject & { readonly spec?: { readonly userData?: unknown } }): void {
    const userData = spec?.userData;
    if (typeof userData !== 'string') return;
    const isKnown = !userData.startsWith('# redacted by karpenter snapshot');
    this.registersTaint.set(metadata.name, isKnown ? userData.includes('karpenter.sh/unregistered') : undefined);
  }
}

/** @throws Error if the API server cannot be reached */
export async function factsOfCluster(client: HttpKubeReader): Promise<Facts> {
  const gathered = new Gathered();
  const gaps: Gaps = { notServed: [], notRead: [] };
  const kinds = READ_KINDS.filter(({ versions: [{ kind }] }) => !BESIDE_THE_POINT.has(kind));
  for await (const { objects } of readCluster(client, { kinds }, gaps))
    for (const object of objects) gathered.add(object);
  const why = new Map(gaps.notRead.map((each) => [each.kind, each.why]));
  for (const object of await globalSettings(client, gathered.controllers, why)) gathered.add(object);
  return factsOf('cluster', gathered, (kind) => why.get(kind));
}

/** Finds the ConfigMap with the settings of versions before 0.33. */
async function globalSettings(
  client: HttpKubeReader,
  controllers: readonly FoundController[],
  why: Map<string, string>,
): Promise<readonly KubeObject[]> {
  const namespaces = new Set([
    ...controllers.map(({ deployment }) => deployment.metadata.namespace ?? 'default'),
    'karpenter',
    'kube-system',
  ]);
  const found: KubeObject[] = [];
  for (const namespace of namespaces) {
    try {
      const object = (await client.raw(`/api/v1/namespaces/${namespace}/configmaps/${GLOBAL_SETTINGS}`)) as KubeObject;
      found.push({ apiVersion: 'v1', kind: 'ConfigMap', metadata: object.metadata });
    } catch (error) {
      if (!isNotFound(error)) why.set('ConfigMap', messageOf(error));
    }
  }
  return found;
}

/** @throws InputError with the document */
export function factsOfManifests(manifests: readonly Manifest[]): Facts {
  const gathered = new Gathered();
  for (const { object, where } of manifests) {
    try {
      gathered.add(object);
    } catch (error) {
      throw new InputError(where, `is not a valid ${object.kind}: ${messageOf(error)}`, { cause: error });
    }
  }
  const infos = snapshotInfos(manifests);
  const why = (kind: string): string | undefined => {
    const refused = infos.flatMap(({ notRead }) => notRead).find((each) => each.kind === kind);
    if (refused !== undefined) return refused.why;
    const [confined] = infos.flatMap(({ namespaces }) => (namespaces === undefined ? [] : [namespaces]));
    if (confined !== undefined && isNamespaced(kind)) return `the snapshot is limited to ${confined.join(', ')}`;
    const isRead = infos.length > 0 && kind !== 'ConfigMap' && kind !== 'CronJob';
    return isRead || gathered.of(kind).length > 0 ? undefined : 'the file has no information about this kind';
  };
  return factsOf('file', gathered, why);
}

const isNamespaced = (kind: string): boolean =>
  READ_KINDS.some(({ versions: [each] }) => each.kind === kind && each.namespaced);

const factsOf = (source: Facts['source'], gathered: Gathered, notAsked: Facts['notAsked']): Facts => ({
  source,
  of: <T extends KubeObject>(kind: string) => gathered.of(kind) as readonly T[],
  notAsked,
  controllers: gathered.controllers,
  autoscalers: gathered.autoscalers,
  registersTaint: gathered.registersTaint,
});
