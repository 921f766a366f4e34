/** Runs `karpenter convert …` in this process. */
import { jest } from '@jest/globals';
import { convertCommand } from '../../../../src/cli/convert.ts';

export interface Ran {
  readonly output: string;
  readonly errors: string;
  readonly code: number;
}

export async function runConvert(...args: readonly string[]): Promise<Ran> {
  let [output, errors] = ['', ''];
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      output += String(text);
      return true;
    }),
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      errors += String(text);
      return true;
    }),
  ];
  process.exitCode = 0;
  try {
    await convertCommand().parseAsync([...args], { from: 'user' });
    return { output, errors, code: Number(process.exitCode) };
  } finally {
    process.exitCode = 0;
    for (const spy of spies) spy.mockRestore();
  }
}
