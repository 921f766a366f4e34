/** The health scripts of Argo CD, run by the Lua interpreter that Argo CD contains. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { KubeObject } from '#api/objects';
import { gitOpsText, RECORDED, recordedObject } from '../support/gitops.ts';
import { luaProgram } from './harness/binaries.ts';

const run = promisify(execFile);

/** Returns the value as a Lua literal. JSON's escapes are also Lua's in these texts. */
function luaOf(value: unknown): string {
  if (value === undefined || value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(luaOf).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `[${JSON.stringify(key)}] = ${luaOf(field)}`);
  return `{${fields.join(', ')}}`;
}

describe('a health check of Argo CD', () => {
  let folder: string;
  let lua: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-gitops-'));
    lua = await luaProgram();
  }, 300_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const { data } = parse(gitOpsText('argocd/argocd-cm.yaml')) as { readonly data: Readonly<Record<string, string>> };

  async function healthOf(object: KubeObject): Promise<string> {
    const [group = ''] = object.apiVersion.split('/');
    const script = data[`resource.customizations.health.${group}_${object.kind}`];
    const file = join(folder, 'health.lua');
    const print = 'local health = check()\nprint(health.status .. "/" .. health.message)';
    await writeFile(file, `obj = ${luaOf(object)}\nlocal function check()\n${script}\nend\n${print}\n`);
    return (await run(lua, [file])).stdout.trimEnd();
  }

  it.each(RECORDED)('sees that %s is %s', async (name, health, message) => {
    expect(await healthOf(recordedObject(name))).toBe(`${health}/${message}`);
  });

  it('waits for deleted objects, and for conditions of the current generation', async () => {
    for (const [name] of RECORDED) {
      const object = recordedObject(name);
      const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
      expect(await healthOf(deleted)).toMatch(/^Progressing\/Waiting for the (deletion|termination)$/);
    }
    const pool = recordedObject('NodePool default');
    const changed = { ...pool, metadata: { ...pool.metadata, generation: 2 } };
    expect(await healthOf(changed)).toBe('Progressing/Waiting for the conditions');
  });

  it('sees that a launch failed', async () => {
    const claim = recordedObject('NodeClaim default-starting');
    const failed = [{ type: 'Launched', status: 'Unknown', reason: 'LaunchFailed', message: 'no capacity' }];
    expect(await healthOf({ ...claim, status: { conditions: failed } } as KubeObject)).toBe(
      'Degraded/Launched: no capacity',
    );
  });
});
