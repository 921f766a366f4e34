/** Response of `/debug/instancetypes`. */
import { describe, expect, it } from '@jest/globals';
import type { NodePool } from '#api/objects';
import { instanceTypeView } from '../../../src/controllers/debug-views.ts';
import type { Deps } from '../../../src/controllers/deps.ts';
import { instanceType } from './fake-cloud.ts';

const pool = (name: string) => ({ metadata: { name } }) as NodePool;

describe('the view of instance types', () => {
  it('contains the types of every NodePool except one whose NodeClass is not ready', async () => {
    const types = [instanceType('m.large', 2, 0.1)];
    const deps = {
      informers: { store: () => ({ list: () => ['sound', 'twin', 'unready'].map(pool) }) },
      cloud: {
        instanceTypes: async ({ metadata }: NodePool) => {
          if (metadata.name === 'unready') throw new Error('NodeClass not ready');
          return types;
        },
      },
    } as unknown as Deps;
    const view = JSON.parse(JSON.stringify(await instanceTypeView(deps)));
    expect(view.instanceTypes.map(({ name }: { readonly name: string }) => name)).toEqual(['m.large']);
    expect(view).not.toHaveProperty('nodePools');
  });
});
