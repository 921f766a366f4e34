/** Kubernetes' CEL functions that rules of this project's kinds call. */
import type { Environment } from '@marcbachmann/cel-js';
import { registerMatches } from './celmatches.ts';
import { regularExpression } from './regexp.ts';

const MAX_INT = 2n ** 63n - 1n;

function strictInt(value: string): bigint {
  if (/^[+-]?\d+$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ''));
    if (number <= MAX_INT && number >= -MAX_INT - 1n) return number;
  }
  throw new RangeError("type conversion error from 'string' to 'int'");
}

function truncate(value: number): bigint {
  if (!Number.isFinite(value) || Math.abs(value) > Number(MAX_INT)) throw new RangeError('integer overflow');
  return BigInt(Math.trunc(value));
}

const findAll = (text: string, pattern: string, limit: bigint): string[] =>
  regularExpression(pattern).matches(text, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit));

export const registerKubernetesFunctions = (environment: Environment): Environment =>
  registerMatches(environment)
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => findAll(text, pattern, 1n)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, -1n),
    )
    .registerFunction('string.findAll(string, int): list<string>', findAll)
    .registerFunction('strict_int(string): int', strictInt)
    .registerFunction('strict_int(int): int', (value: bigint) => value)
    .registerFunction('strict_int(double): int', truncate)
    .registerFunction('strict_int(google.protobuf.Timestamp): int', (value: Date) =>
      BigInt(Math.floor(value.getTime() / 1000)),
    );
