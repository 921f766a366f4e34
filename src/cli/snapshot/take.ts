/** Creates a snapshot: reads, redacts and writes the objects of a cluster page by page. */
import type { Writable } from 'node:stream';
import type { KubeObject } from '../../api/kubernetes.ts';
import type { HttpKubeReader } from '../../kube/http.ts';
import { withoutManagedFields } from '../../kube/trimmed-object.ts';
import { SNAPSHOT_INFO, type SnapshotInfo } from '../objects/snapshot-info.ts';
import { pluralOf } from '../render/table.ts';
import type { Progress } from './progress.ts';
import { type Gaps, readCluster } from './read.ts';
import { Redactor } from './redact.ts';
import { type ListFormat, ListWriter } from './write.ts';

export interface SnapshotOptions {
  readonly namespaces?: readonly string[];
  readonly redact: boolean;
  readonly output: ListFormat;
  /** Version of the command line. */
  readonly version: string;
}

export interface Taken {
  readonly info: SnapshotInfo;
  /** Number of objects by kind. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Kinds that results require. At least one of them must be readable. */
const NEEDED = ['NodePool', 'Node', 'Pod'];

/** @throws Error if the cluster cannot be reached, or if neither nodes, pods nor NodePools can be read */
export async function takeSnapshot(
  client: HttpKubeReader,
  to: Writable,
  options: SnapshotOptions,
  progress: Progress,
): Promise<Taken> {
  const { namespaces, redact, version } = options;
  const takenAt = new Date().toISOString();
  const { gitVersion } = (await client.raw('/version')) as { readonly gitVersion?: string };
  const gaps: Gaps = { notServed: [], notRead: [] };
  const redactor = new Redactor();
  const writer = new ListWriter(to, options.output);
  const counts = new Map<string, number>();
  for await (const { kind, objects } of readCluster(client, { namespaces }, gaps)) {
    counts.set(kind, (counts.get(kind) ?? 0) + objects.length);
    progress.at(`reading ${pluralOf(kind)}: ${counts.get(kind)}`);
    await writer.add(objects.map((object) => (redact ? redactor.redacted(object) : light(object))));
  }
  const refused = new Map(gaps.notRead.map(({ kind, why }) => [kind, why]));
  if (NEEDED.every((kind) => refused.has(kind)))
    throw new Error(
      `the cluster cannot be read: ${refused.get('Pod')}; use a kubeconfig with the permissions listed by --help`,
    );
  const info: SnapshotInfo = {
    ...SNAPSHOT_INFO,
    metadata: { name: 'snapshot' },
    takenAt,
    version,
    redacted: redact,
    ...(gitVersion === undefined ? {} : { kubernetesVersion: gitVersion }),
    ...(namespaces === undefined ? {} : { namespaces }),
    ...gaps,
  };
  await writer.add([info]);
  await writer.end();
  return { info, counts };
}

/** Removes managed fields, which are as long as the object and are not used. */
const light = (object: KubeObject): KubeObject => ({ ...object, metadata: withoutManagedFields(object.metadata) });
