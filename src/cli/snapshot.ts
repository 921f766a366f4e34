/**
 * Command `karpenter snapshot`. Writes the objects of a live cluster, without secrets, to one file for all commands
 * with `-f`.
 */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { Command, Option } from 'commander';
import { DEVICE_TAINT_RULE, type KubeObject } from '#api/objects';
import { withoutManagedFields } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { type Example, withExamples } from './describe.ts';
import { type NotRead, SNAPSHOT_INFO, type SnapshotInfo } from './objects/snapshot-info.ts';
import { counted, pluralOf } from './render/table.ts';
import { yamlText } from './render/yaml.ts';
import { collect, writeNotes } from './scenario.ts';
import { READ_KINDS } from './snapshot/kinds.ts';
import { type Progress, progressOn } from './snapshot/progress.ts';
import { type Gaps, readCluster } from './snapshot/read.ts';
import { Redactor } from './snapshot/redact.ts';

interface Flags extends ClusterFlags {
  readonly namespace?: readonly string[];
  readonly redact: boolean;
  readonly output: ListFormat;
}

/** Kinds of old versions of Karpenter, and of Kubernetes since version 1.37. */
const OFTEN_ABSENT = new Set(['Provisioner', 'Machine', 'AWSNodeTemplate', DEVICE_TAINT_RULE.kind]);

/** Returns the required permissions in the form of ClusterRole rules. */
const rights = (): readonly string[] => {
  const groups = Map.groupBy(
    READ_KINDS.flatMap(({ versions }) => versions.slice(0, 1)),
    ({ group }) => group,
  );
  const named = [...groups].map(
    ([group, kinds]) => `  ${group === '' ? 'core' : group}: ${kinds.map(({ plural }) => plural).join(', ')}`,
  );
  return [
    ...named,
    '  (only ConfigMaps with the label karpenter.sh/device-templates=true are listed)',
    '  apiextensions.k8s.io: customresourcedefinitions (get, by name)',
    '  admissionregistration.k8s.io: mutatingwebhookconfigurations, validatingwebhookconfigurations',
  ];
};

const HELP = `
The command only reads. It never reads Secrets. It reads ConfigMaps only if they declare devices of new nodes. Fields that may
be secret and do not influence decisions are omitted: environments, commands, arguments, probes, volumes other than claims,
images, annotations, and messages of pods and nodes. Names, labels, selectors, taints, requests, instance IDs and tags of
NodeClasses are kept. Annotations of NodePool templates and user data are replaced by a short digest. Drift hashes are computed
again, so that commands return the same results for the file as for the cluster.

Required permissions (list, in all namespaces). Kinds without permission are reported, also in the file, and skipped:
${rights().join('\n')}`;

const EXAMPLES: readonly Example[] = [
  { what: 'cluster of the kubeconfig', command: 'karpenter snapshot > now.yaml' },
  {
    what: 'as JSON, which is read fifty times faster, for thousands of pods',
    command: 'karpenter snapshot -o json > now.json',
  },
  {
    what: 'pods of two namespaces only; commands that read the file report the missing pods',
    command: 'karpenter snapshot --context staging -n web -n jobs > part.yaml',
  },
];

const gapNote = ({ kind, why, effect }: NotRead): string =>
  `${pluralOf(kind)} are not in the snapshot (${why}): ${effect}`;

export function snapshotNotes({
  info,
  counts,
}: Pick<Taken, 'counts'> & { readonly info: SnapshotInfo }): readonly string[] {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const of = (kind: string): string => counted(counts.get(kind) ?? 0, kind);
  const custom = info.notServed.filter((kind) => !OFTEN_ABSENT.has(kind));
  return [
    ...info.notRead.map(gapNote),
    ...(custom.length === 0 ? [] : [`the cluster does not have the kinds ${custom.join(', ')}`]),
    ...(info.namespaces === undefined
      ? []
      : [
          `limited to namespaces ${info.namespaces.join(', ')}: nodes appear emptier than they are, because pods in other namespaces are missing`,
        ]),
    `${counted(total, 'object')}: ${of('Node')}, ${of('Pod')}, ${of('NodePool')}, ${of('NodeClaim')}${info.redacted ? '' : '; not redacted: the file may contain secrets'}`,
  ];
}

/** @param version version of the product */
export const snapshotCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('snapshot').description(
        'Write the objects of a live cluster that other commands use as one List, without secrets',
      ),
    ),
    EXAMPLES,
  )
    .addOption(
      new Option(
        '-n, --namespace <name>',
        'read namespaced objects of this namespace only; repeatable (default: all namespaces)',
      ).argParser(collect),
    )
    .addOption(new Option('-o, --output <format>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .option('--no-redact', 'omit only managedFields; the file then contains user data, commands and environments')
    .addHelpText('after', HELP)
    .action(async ({ namespace, redact, output, ...cluster }: Flags) => {
      const progress = progressOn();
      const options = {
        redact,
        output,
        version,
        ...(namespace === undefined ? {} : { namespaces: namespace }),
      };
      try {
        const taken = await reading(cluster, `karpenter-snapshot/${version}`, (client) =>
          writeSnapshot(client, process.stdout, options, progress),
        );
        progress.done();
        writeNotes(snapshotNotes(taken));
      } finally {
        progress.done();
      }
    });

/** Creates a snapshot: reads, redacts and writes the objects of a cluster page by page. */
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
export async function writeSnapshot(
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

/** Writes objects one by one as a List, because a cluster may be larger than the memory. */
type ListFormat = 'yaml' | 'json';

/** Texts before, between and after the items of a list. */
interface Form {
  readonly head: string;
  readonly separator: string;
  readonly foot: string;
  readonly item: (object: KubeObject) => string;
}

/** Forms of the list. `kind` is the last field, so that commands reject a truncated file, which has no kind. */
const FORMS: Readonly<Record<ListFormat, Form>> = {
  yaml: {
    head: 'apiVersion: v1\nitems:\n',
    separator: '',
    foot: 'kind: List\nmetadata:\n  resourceVersion: ""\n',
    // long lines are not folded, because a fold would split messages
    item: (object) => yamlText([object], { lineWidth: 0 }),
  },
  json: {
    head: '{"apiVersion":"v1","items":[\n',
    separator: ',\n',
    foot: '\n],"kind":"List","metadata":{"resourceVersion":""}}\n',
    item: (object) => JSON.stringify(object),
  },
};

class ListWriter {
  readonly #output: Writable;
  readonly #form: Form;
  #count = 0;

  constructor(output: Writable, format: ListFormat) {
    this.#output = output;
    this.#form = FORMS[format];
  }

  /** Resolves after the reader has consumed the objects. */
  async add(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const before = this.#count === 0 ? this.#form.head : this.#form.separator;
      this.#count += 1;
      await this.#write(before + this.#form.item(object));
    }
  }

  end(): Promise<void> {
    return this.#write(this.#count === 0 ? this.#form.head + this.#form.foot : this.#form.foot);
  }

  async #write(text: string): Promise<void> {
    if (!this.#output.write(text)) await once(this.#output, 'drain');
  }
}
