/** Options of the Dockerfile for running the operator without a container. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCKERFILE = join(import.meta.dirname, '../../Dockerfile');

/** Returns the options that the image's entry point passes to Node. */
export function imageOptions(): readonly string[] {
  const line = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(DOCKERFILE, 'utf8'))?.[1];
  return (JSON.parse(line ?? '[]') as readonly string[]).filter((part) => part.startsWith('--'));
}

/** Returns the environment of the image, without the folder of its compile cache. */
export function imageEnv(): Readonly<Record<string, string>> {
  const line = /^ENV (.*)$/m.exec(readFileSync(DOCKERFILE, 'utf8'))?.[1] ?? '';
  const pairs = line.split(' ').map((pair) => pair.split(/=(.*)/s) as [string, string]);
  return Object.fromEntries(pairs.filter(([name]) => name !== 'NODE_COMPILE_CACHE'));
}

/**
 * Returns the options with the main thread's fraction of this limit in bytes, because the machine of a test has more
 * memory.
 */
export function imageOptionsFor(limitBytes: number): readonly string[] {
  return imageOptions().map((option) => {
    const percentage = /^--max-old-space-size-percentage=(\d+)$/.exec(option)?.[1];
    if (percentage === undefined) return option;
    return `--max-old-space-size=${Math.floor((limitBytes / 2 ** 20) * (Number(percentage) / 100))}`;
  });
}
