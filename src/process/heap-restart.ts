/**
 * Gives the main thread the heap of the memory budget. V8 reads the limit of this heap only at the start of the process, and the
 * command line of the image contains one share for all memory limits. The share is right for the default limit of the chart.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { type MemoryLimit, memoryBudget, memoryLimit, YOUNG_MB } from './memory-budget.ts';

const MIB = 2 ** 20;
/** Difference between two limits that is only rounding. */
const ROUNDING_MB = 2;
/** Number of semi-spaces of a young generation. */
const SEMI_SPACES = 3;
const SIZE_OPTION = /^--max[-_]old[-_]space[-_]size=/;
const HEAP_OPTION = /^--max[-_](old[-_]space[-_]size[-_]percentage|semi[-_]space[-_]size)=/;

interface ProcessHeap {
  readonly limit: MemoryLimit;
  /** V8's limit of the main thread, in bytes. */
  readonly heapBytes: number;
  /** Options of Node.js on the command line. */
  readonly options: readonly string[];
  /** Value of the environment variable `NODE_OPTIONS`. */
  readonly nodeOptions: string;
}

/**
 * Returns the options of Node.js with which the process must start again, or undefined if the heap is right. A size that a user
 * has set explicitly is not changed.
 */
export function heapOptions({ limit, heapBytes, options, nodeOptions }: ProcessHeap): readonly string[] | undefined {
  const isExplicit = [...options, ...nodeOptions.split(/\s+/)].some((option) => SIZE_OPTION.test(option));
  if (limit.source === 'the machine' || isExplicit) return undefined;
  const { mainMb } = memoryBudget(limit.bytes);
  if (Math.abs(mainMb - heapBytes / MIB) <= ROUNDING_MB) return undefined;
  const size = [`--max-old-space-size=${mainMb - YOUNG_MB}`, `--max-semi-space-size=${YOUNG_MB / SEMI_SPACES}`];
  return [...options.filter((option) => !HEAP_OPTION.test(option)), ...size];
}

/** Replaces the program of this process by itself with the right heap. Does nothing if the heap is right. */
export function ensureHeap(memorySetting: number): void {
  const { execArgv, execPath, argv, env } = process;
  const options = heapOptions({
    limit: memoryLimit(memorySetting, process.constrainedMemory(), totalmem()),
    heapBytes: getHeapStatistics().heap_size_limit,
    options: execArgv,
    nodeOptions: env.NODE_OPTIONS ?? '',
  });
  // the process keeps its id and its container, and the explicit size prevents a second replacement
  if (options !== undefined) process.execve?.(execPath, [execPath, ...options, ...argv.slice(1)], env);
}
