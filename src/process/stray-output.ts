/** Writes the output of libraries and of Node.js itself to the log. */
import type { Logger } from '#observe/logger';

/** Maximum length of a line, in characters. */
const MOST_TEXT = 2_000;
const STREAMS = ['stdout', 'stderr'] as const;

type Stream = Pick<NodeJS.WriteStream, 'write'>;

/**
 * Passes each line that is written to a stream to `report`. Truncates lines that are too long, and keeps an unfinished line
 * until it ends.
 */
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
 * Reports the output of this process and of its threads at INFO, because libraries do not state the severity of their
 * output. The log itself writes to file descriptors and bypasses these streams.
 */
export function logStrayOutput(log: Logger): void {
  for (const stream of STREAMS)
    captureLines(process[stream], (text) => log.info('output of a library', { stream, text }));
  logWarnings((text) => log.info('warning of node.js', { text }));
}

/** Replaces the report of warnings by Node.js, which goes to standard error of the process, even for threads. */
export function logWarnings(report: (text: string) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => report(`${name}: ${message}`.slice(0, MOST_TEXT)));
}
