/** Output of libraries and of Node.js itself, which reaches the log as lines of it. */
import type { Logger } from '../observe/logger.ts';

/** Longest text of one line. */
const MOST_TEXT = 2_000;
const STREAMS = ['stdout', 'stderr'] as const;

type Stream = Pick<NodeJS.WriteStream, 'write'>;

/** Sends the lines that are written to a stream to `report`. Lines are cut at a bound, and an unfinished one is kept. */
export function captureLines(stream: Stream, report: (text: string) => void): void {
  let unfinished = '';
  const capture = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const lines = `${unfinished}${typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')}`.split('\n');
    unfinished = (lines.pop() ?? '').slice(0, MOST_TEXT);
    for (const line of lines) if (line.trim() !== '') report(line.slice(0, MOST_TEXT));
    const done = rest.at(-1);
    if (typeof done === 'function') queueMicrotask(() => done());
    return true;
  };
  stream.write = capture as Stream['write'];
}

/**
 * Reports the output of this process and of its threads at INFO: no library says how serious its output is. The log
 * itself is written to file descriptors, past these streams.
 */
export function logStrayOutput(log: Logger): void {
  for (const stream of STREAMS)
    captureLines(process[stream], (text) => log.info('output of a library', { stream, text }));
  logWarnings((text) => log.info('warning of node.js', { text }));
}

/** Replaces Node's own report of warnings, which is written to standard error of the process, for threads too. */
export function logWarnings(report: (text: string) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => report(`${name}: ${message}`.slice(0, MOST_TEXT)));
}
