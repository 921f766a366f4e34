/**
 * Command `karpenter snapshot`. Writes the objects of a live cluster, without secrets, to one file for all commands
 * with `-f`.
 */
import { Command, Option } from 'commander';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { type Example, withExamples } from './describe.ts';
import type { NotRead, SnapshotInfo } from './objects/snapshot-info.ts';
import { counted, pluralOf } from './render/table.ts';
import { writeNotes } from './scenario.ts';
import { READ_KINDS } from './snapshot/kinds.ts';
import { progressOn } from './snapshot/progress.ts';
import { type Taken, takeSnapshot } from './snapshot/take.ts';
import type { ListFormat } from './snapshot/write.ts';

interface Flags extends ClusterFlags {
  readonly namespace?: readonly string[];
  readonly redact: boolean;
  readonly output: ListFormat;
}

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
    '  apiextensions.k8s.io: customresourcedefinitions (get, by name)',
    '  admissionregistration.k8s.io: mutatingwebhookconfigurations, validatingwebhookconfigurations',
  ];
};

const HELP = `
It reads, page by page, and changes nothing. Secrets and ConfigMaps are never read. Of what it reads it leaves out all
that may be secret and decides nothing: environments, commands, arguments, probes, volumes other than claims, images,
annotations, messages of pods and nodes, user data. Names, labels, selectors, taints, requests, instance ids and the tags
of NodeClasses stay. Annotations of NodePool templates and user data are replaced by a short digest; what takes part in a
drift hash is hashed anew, so that the answers over the file are those over the cluster.

Rights that it needs (list, in all namespaces). What is forbidden is told, in the file as well, and the rest is read:
${rights().join('\n')}`;

const EXAMPLES: readonly Example[] = [
  { what: 'the cluster of the kubeconfig', command: 'karpenter snapshot > now.yaml' },
  { what: 'read fifty times faster: for thousands of pods', command: 'karpenter snapshot -o json > now.json' },
  {
    what: 'pods of two namespaces alone; answers over it say that others are missing',
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
  const custom = info.notServed.filter((kind) => !['Provisioner', 'Machine', 'AWSNodeTemplate'].includes(kind));
  return [
    ...info.notRead.map(gapNote),
    ...(custom.length === 0 ? [] : [`the cluster does not know ${custom.join(', ')}: it has none of them`]),
    ...(info.namespaces === undefined
      ? []
      : [
          `confined to ${info.namespaces.join(', ')}: nodes seem emptier than they are, since pods elsewhere are missing`,
        ]),
    `${counted(total, 'object')}: ${of('Node')}, ${of('Pod')}, ${of('NodePool')}, ${of('NodeClaim')}${info.redacted ? '' : '; not redacted: it may hold secrets'}`,
  ];
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** @param version version of the product */
export const snapshotCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('snapshot').description(
        'Write the objects of a live cluster that the other verbs look at as one List, without secrets',
      ),
    ),
    EXAMPLES,
  )
    .addOption(
      new Option(
        '-n, --namespace <name>',
        'read namespaced objects here alone; repeatable; default: everywhere',
      ).argParser(collect),
    )
    .addOption(new Option('-o, --output <format>', 'how to write').choices(['yaml', 'json']).default('yaml'))
    .option(
      '--no-redact',
      'leave nothing out but managedFields; user data, commands and environments are in the file then',
    )
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
          takeSnapshot(client, process.stdout, options, progress),
        );
        progress.done();
        writeNotes(snapshotNotes(taken));
      } finally {
        progress.done();
      }
    });
