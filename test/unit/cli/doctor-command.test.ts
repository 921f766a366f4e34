import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { DoctorOptions, Finding } from '#cloud';
import { doctorCommand } from '../../../src/cli/doctor.ts';

const { exitCode } = process;
afterEach(() => {
  process.exitCode = exitCode;
  jest.restoreAllMocks();
});

async function run(findings: readonly Finding[]) {
  let written = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  const asked: DoctorOptions[] = [];
  const command = doctorCommand('1.2.3', async (options) => {
    asked.push(options);
    return findings;
  });
  await command.parseAsync(['--cluster-name', 'racks', '--kubeconfig', 'file'], { from: 'user' });
  return { written, asked };
}

describe('the command doctor', () => {
  it('prints the findings of any provider with their remedies', async () => {
    const { written, asked } = await run([
      { level: 'ok', subject: 'rack 1', message: 'has power' },
      { level: 'warning', subject: 'rack 2', message: 'is hot', fix: 'open the door' },
    ]);
    expect(asked).toEqual([{ clusterName: 'racks', kubeconfig: 'file', version: '1.2.3' }]);
    expect(written.split('\n').slice(0, 3)).toEqual([
      'ok      rack 1: has power',
      'warning rack 2: is hot',
      '        fix: open the door',
    ]);
    expect(process.exitCode).toBe(exitCode);
  });

  it('exits with 1 after an error', async () => {
    await run([{ level: 'error', subject: 'rack 3', message: 'is gone', fix: 'build it' }]);
    expect(process.exitCode).toBe(1);
  });
});
