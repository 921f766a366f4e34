/**
 * Command `karpenter record`. Watches a live cluster with GET requests only, and records the changes of its workloads
 * as a trace.
 */
import { Command, Option } from 'commander';
import { period } from './budgets.ts';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { counted } from './render/table.ts';
import { collect, writeNotes } from './scenario.ts';
import { progressOn } from './snapshot/progress.ts';
import { limitOption } from './trace/limit.ts';
import { record } from './trace/record.ts';

interface Flags extends ClusterFlags {
  readonly for: number;
  readonly namespace?: readonly string[];
  readonly limit: number;
  readonly name: string;
  readonly output: string;
}

const HELP = `
It lists and watches, and changes nothing. The trace begins with what is there: NodePools, NodeClasses and workloads. From then
on it has every change of them; pods of Jobs, and those that no workload of the trace makes, are in it one by one, with the time for
which they ran. Ctrl-C ends it early and writes what was seen until then; every ten minutes the file is written as well.

Left out is what may be secret, as \`karpenter snapshot\` does it, and more: environments, commands, arguments, images, user data,
labels that nothing selects by, and annotations that decide nothing. Names, requests and constraints stay.

Rights that it needs: list and watch, in all namespaces, of the kinds that \`karpenter snapshot --help\` names. What is forbidden
is said, and left out. It takes memory as the cluster has objects, and for the trace as much as --limit says.`;

export const recordCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('record').description(
        'Watch a live cluster, and write what happened as a trace for `karpenter replay`',
      ),
    ),
    [
      { what: 'a day', command: 'karpenter record --for 24h -o day.jsonl.gz' },
      { what: 'two namespaces, until Ctrl-C', command: 'karpenter record -n web -n jobs -o part.jsonl' },
    ],
  )
    .addOption(
      new Option('--for <duration>', 'how long, such as 7d or 36h').argParser(period).default(86_400_000, '24h'),
    )
    .addOption(
      new Option('-n, --namespace <name>', 'namespaced objects of this namespace alone; repeatable').argParser(collect),
    )
    .addOption(limitOption())
    .addOption(new Option('--name <name>', 'what the trace is called').default('recorded'))
    .addOption(
      new Option('-o, --output <file>', 'where to write; compressed when it ends in .gz').default('trace.jsonl'),
    )
    .addHelpText('after', HELP)
    .action(async ({ for: forMs, namespace, limit, name, output, ...cluster }: Flags) => {
      const progress = progressOn();
      const interrupted = new AbortController();
      const interrupt = (): void => interrupted.abort();
      process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
      try {
        const notes = await reading(cluster, `karpenter-record/${version}`, (client) =>
          record(client, {
            forMs,
            limitBytes: limit,
            namespaces: namespace,
            name,
            path: output,
            signal: interrupted.signal,
            onStarted: () => writeNotes([`recording to ${output}; Ctrl-C ends it and writes the trace`]),
            onProgress: (events, secondsLeft) =>
              progress.at(`recording: ${counted(events, 'event')}, ${secondsLeft} s left; Ctrl-C writes the trace`),
          }),
        );
        progress.done();
        writeNotes([...notes, `the trace is in ${output}`]);
      } finally {
        progress.done();
        process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      }
    });
