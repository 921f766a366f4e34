import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorSupervisor, superviseOperator } from '../../../../src/cli/demo/operator-supervisor.ts';

describe('the supervisor of the demo', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'supervisor-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const supervised = (
    text: string,
    { onExit, onStart }: { onExit?: (how: string) => void; onStart?: (pid: number) => void } = {},
  ): { readonly operator: OperatorSupervisor; readonly logFile: string } => {
    const [script, logFile] = [join(folder, 'operator.mjs'), join(folder, 'operator.log')];
    writeFileSync(script, text);
    writeFileSync(logFile, '');
    const operator = superviseOperator({
      ...{ env: {}, logFile, script, firstPauseMs: 1 },
      ...(onExit && { onExit }),
      ...(onStart && { onStart }),
    });
    return { operator, logFile };
  };

  it('starts the operator again after it has exited, and keeps its log', async () => {
    const exits: string[] = [];
    const pids = new Set<number>();
    const second = Promise.withResolvers<void>();
    const { operator, logFile } = supervised('console.log("a line"); process.exitCode = 3;', {
      onExit: (how) => exits.push(how),
      onStart: (pid) => {
        pids.add(pid);
        if (pids.size === 3) second.resolve();
      },
    });
    await second.promise;
    await operator.stop();
    expect(exits.slice(0, 2)).toEqual(['code 3', 'code 3']);
    expect(readFileSync(logFile, 'utf8').match(/a line/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it('reports an operator that does not start', async () => {
    const { operator } = supervised('process.exit(1)');
    await expect(operator.failed).rejects.toThrow('the operator exited 3 times soon after its start, last with code 1');
    await operator.stop();
  });

  it('stops a running operator without a restart', async () => {
    const exits: string[] = [];
    const started = Promise.withResolvers<number>();
    const { operator } = supervised('setInterval(() => {}, 1000)', {
      onExit: (how) => exits.push(how),
      onStart: started.resolve,
    });
    const pid = await started.promise;
    await operator.stop();
    expect(exits).toEqual([]);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
