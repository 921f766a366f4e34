/** Prometheus of the Debian package, unpacked into the cache without an installation. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.ts';
import { RULES_FILE } from '../../support/queries.ts';
import { built } from './binaries.ts';
import { eventually, requireRunning, startProcess } from './processes.ts';

const run = promisify(execFile);

const START_LIMIT_MS = 30_000;

export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

/** @throws Error that names the requirements if apt does not exist */
export async function prometheusBinaries(progress: (message: string) => void = () => {}): Promise<PrometheusBinaries> {
  const folder = await built({ tool: 'prometheus', version: 'debian' }, download, progress);
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
}

async function download(work: string): Promise<void> {
  const fetch = () => run('apt-get', ['download', 'prometheus'], { cwd: work });
  try {
    // Package lists may be missing or outdated.
    await fetch().catch(async () => {
      await run('apt-get', ['update']);
      await fetch();
    });
  } catch (error) {
    throw new Error('Cannot have a Prometheus: `apt-get download prometheus` needs Debian, and its package lists', {
      cause: error,
    });
  }
  const [archive] = (await readdir(work)).filter((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new Error('Cannot find the package that apt-get downloaded');
  await run('dpkg-deb', ['-x', archive, 'unpacked'], { cwd: work });
  await mkdir(join(work, 'bin'));
  for (const name of ['prometheus', 'promtool'])
    await rename(join(work, 'unpacked/usr/bin', name), join(work, 'bin', name));
}

export interface Prometheus {
  /** Returns `data` of an API response. @throws Error with the response if the request failed */
  get<T>(path: string, parameters?: Readonly<Record<string, string>>): Promise<T>;
  stop(): Promise<void>;
}

/**
 * Starts a Prometheus that scrapes the port every second, and evaluates the rules of the chart at the same interval.
 */
export async function startPrometheus(folder: string, target: number): Promise<Prometheus> {
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [RULES_FILE],
    scrape_configs: [{ job_name: 'karpenter', static_configs: [{ targets: [`127.0.0.1:${target}`] }] }],
  };
  // JSON is valid YAML.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const { prometheus } = await prometheusBinaries();
  const argv = [
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=data',
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  const process = await startProcess({ name: 'prometheus', path: prometheus, argv, folder });
  const url = `http://127.0.0.1:${port}`;
  try {
    await eventually(
      'a ready Prometheus',
      async () => {
        requireRunning(process);
        return (await fetch(`${url}/-/ready`)).ok ? true : undefined;
      },
      START_LIMIT_MS,
    );
  } catch (error) {
    await process.stop();
    throw new Error(`Prometheus does not start:\n${process.log()}`, { cause: error });
  }
  return {
    async get<T>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<T> {
      const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
      const answer = (await response.json()) as { readonly status: string; readonly data: T };
      if (answer.status !== 'success')
        throw new Error(`${path} ${JSON.stringify(parameters)}: ${JSON.stringify(answer)}`);
      return answer.data;
    },
    stop: () => process.stop(),
  };
}
