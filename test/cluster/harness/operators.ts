/** The operator as a separate process, like in a pod, with its log as parsed lines. */
import { bundled } from '../../support/operator/bundle.ts';
import type { Cluster } from './cluster.ts';
import { type Process, startProcess } from './processes.ts';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface OperatorProcess {
  readonly process: Process;
  /** Returns the lines that were logged so far. */
  lines(): readonly LogLine[];
  stop(): Promise<void>;
}

let started = 0;

export async function startOperatorProcess(
  cluster: Cluster,
  env: Readonly<Record<string, string>> = {},
): Promise<OperatorProcess> {
  started += 1;
  const process_ = await startProcess({
    name: `operator-${started}`,
    path: process.execPath,
    argv: [bundled('main')],
    folder: cluster.plane.folder,
    env: { ...inherited(), ...(await cluster.operatorEnv()), ...env },
  });
  return {
    process: process_,
    lines: () => process_.log().split('\n').flatMap(parsed),
    stop: () => process_.stop(),
  };
}

/** Removes Jest's settings of Node and the developer's credentials from the environment. */
const inherited = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !/^(AWS|KUBE|JEST|NODE_ENV)/.test(name)),
  );

/** The last line may be incomplete, and warnings of Node are not log lines. */
function parsed(line: string): readonly LogLine[] {
  if (!line.startsWith('{')) return [];
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return [];
  }
}
