/** What the Dockerfile says of how Node runs the operator, for those who run it without a container. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCKERFILE = join(import.meta.dirname, '../../Dockerfile');

/** What the image's entry point gives to Node. */
export function imageOptions(): readonly string[] {
  const line = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(DOCKERFILE, 'utf8'))?.[1];
  return (JSON.parse(line ?? '[]') as readonly string[]).filter((part) => part.startsWith('--'));
}

/** The image's own environment, but for where it keeps its compiled code. */
export function imageEnv(): Readonly<Record<string, string>> {
  const line = /^ENV (.*)$/m.exec(readFileSync(DOCKERFILE, 'utf8'))?.[1] ?? '';
  const pairs = line.split(' ').map((pair) => pair.split(/=(.*)/s) as [string, string]);
  return Object.fromEntries(pairs.filter(([name]) => name !== 'NODE_COMPILE_CACHE'));
}

/** The share of the limit that the entry point gives to the main thread, as bytes: a test's machine has more memory. */
export function imageOptionsFor(limitBytes: number): readonly string[] {
  return imageOptions().map((option) => {
    const percentage = /^--max-old-space-size-percentage=(\d+)$/.exec(option)?.[1];
    if (percentage === undefined) return option;
    return `--max-old-space-size=${Math.floor((limitBytes / 2 ** 20) * (Number(percentage) / 100))}`;
  });
}
