/**
 * Command `karpenter record`. Watches a live cluster with GET requests only, and records the changes of its workloads
 * as a trace.
 */
import { Command, Option } from 'commander';
import { periodOption } from './budgets.ts';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { counted } from './render/table.ts';
import { collect, writeNotes } from './scenario.ts';
import { progressOn } from './snapshot/progress.ts';
import { limitOption } from './trace/limit.ts';
import { recordTrace } from './trace/record.ts';

interface Flags extends ClusterFlags {
  readonly for: number;
  readonly namespace?: readonly string[];
  readonly limit: number;
  readonly name: string;
  readonly output: string;
}

const HELP = `
The command only lists and watches. The trace starts with the present NodePools, NodeClasses and workloads, and then contains
each change of them. Pods of Jobs, and pods without a workload in the trace, are recorded one by one with their running time.
Resource claims are recorded with the DRA drivers that publish devices of nodes. The file is written every ten minutes. Ctrl-C
stops the recording and writes the trace.

Fields that may be secret are omitted, as in \`karpenter snapshot\`: environments, commands, arguments, images, user data, labels
that no selector uses, and annotations that do not influence decisions. Names, requests and constraints are kept.

Required permissions: list and watch, in all namespaces, for the kinds listed by \`karpenter snapshot --help\`. Kinds without
permission are reported and skipped. Memory grows with the number of objects, and for the trace up to --limit.`;

export const recordCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('record').description('Record the changes of a live cluster as a trace for `karpenter replay`'),
    ),
    [
      { what: 'a day', command: 'karpenter record --for 24h -o day.jsonl.gz' },
      { what: 'two namespaces, until Ctrl-C', command: 'karpenter record -n web -n jobs -o part.jsonl' },
    ],
  )
    .addOption(periodOption('--for <duration>', 'duration of the recording, for example 7d or 36h', '24h'))
    .addOption(
      new Option('-n, --namespace <name>', 'record namespaced objects of this namespace only; repeatable').argParser(
        collect,
      ),
    )
    .addOption(limitOption())
    .addOption(new Option('--name <name>', 'name of the trace').default('recorded'))
    .addOption(
      new Option('-o, --output <file>', 'output file; compressed if the name ends in .gz').default('trace.jsonl'),
    )
    .addHelpText('after', HELP)
    .action(async ({ for: forMs, namespace, limit, name, output, ...cluster }: Flags) => {
      const progress = progressOn();
      const interrupted = new AbortController();
      const interrupt = (): void => interrupted.abort();
      process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
      try {
        const notes = await reading(cluster, `karpenter-record/${version}`, (client) =>
          recordTrace(client, {
            forMs,
            limitBytes: limit,
            namespaces: namespace,
            name,
            path: output,
            signal: interrupted.signal,
            onStarted: () => writeNotes([`recording to ${output}; press Ctrl-C to stop and write the trace`]),
            onProgress: (events, secondsLeft) =>
              progress.at(
                `recording: ${counted(events, 'event')}, ${secondsLeft} s left; press Ctrl-C to stop and write the trace`,
              ),
          }),
        );
        progress.done();
        writeNotes([...notes, `trace written to ${output}`]);
      } finally {
        progress.done();
        process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      }
    });
