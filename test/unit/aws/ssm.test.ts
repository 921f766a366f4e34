import { SSMClient } from '@aws-sdk/client-ssm';
import { describe, expect, it } from '@jest/globals';
import { after } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import type { Amis } from '../../../src/aws/amis/amis.ts';
import { ssmInvalidation } from '../../../src/aws/amis/amis.ts';
import { SsmParameters } from '../../../src/aws/ssm.ts';

const MINUTE = 60_000;

function store(values: Record<string, string>) {
  let now = 0;
  const asked: string[] = [];
  const ssm: SSMClient = Object.assign(Object.create(SSMClient.prototype) as SSMClient, {
    send: async ({ input: { Name } }: { input: { Name: string } }) => {
      asked.push(Name);
      if (values[Name] === undefined) throw new Error('ParameterNotFound');
      return { Parameter: { Value: values[Name] } };
    },
  });
  const clock = { now: () => now, sleep: async () => undefined, after: () => () => undefined };
  const forward = (ms: number): void => {
    now += ms;
  };
  return { parameters: new SsmParameters(ssm, clock, silent), asked, forward };
}

const latest = { name: 'latest', mutable: true, custom: false };
const pinned = { name: 'pinned', mutable: false, custom: false };
const custom = { name: 'custom', mutable: true, custom: true };

describe('a parameter', () => {
  it.each([
    ['of an alias', latest, 24 * 60],
    ['of a pinned alias', pinned, 24 * 60],
    ["of the user's", custom, 5],
  ])('is cached for its lifetime: %s', async (_, parameter, minutes) => {
    const { parameters, asked, forward } = store({ [parameter.name]: 'ami-1' });
    expect(await parameters.get(parameter)).toBe('ami-1');
    forward(minutes * MINUTE - 1);
    await parameters.get(parameter);
    expect(asked).toHaveLength(1);
    forward(1);
    await parameters.get(parameter);
    expect(asked).toHaveLength(2);
  });

  it('is requested again if its alias has no image ID', async () => {
    const values: Record<string, string> = { latest: '-1e999', custom: 'none' };
    const { parameters } = store(values);
    await expect(parameters.get(latest)).rejects.toThrow('to GetParameter is invalid: the value is not an image ID');
    values.latest = 'ami-2';
    expect(await parameters.get(latest)).toBe('ami-2');
    expect(await parameters.get(custom)).toBe('none');
  });

  it('is requested again if it cannot be read', async () => {
    const values: Record<string, string> = {};
    const { parameters } = store(values);
    await expect(parameters.get(latest)).rejects.toThrow('getting ssm parameter, ParameterNotFound (parameter=latest)');
    values.latest = 'ami-2';
    expect(await parameters.get(latest)).toBe('ami-2');
  });
});

describe('invalidation', () => {
  const pass = (parameters: SsmParameters, deprecated: readonly string[], looked: string[] = []) =>
    ssmInvalidation(parameters, {
      isDeprecated: async (id: string) => {
        looked.push(id);
        return deprecated.includes(id);
      },
    } as unknown as Amis).reconcile({ signal: new AbortController().signal, log: silent });

  it('drops only `latest` parameters with a deprecated image', async () => {
    const { parameters, asked } = store({ latest: 'ami-1', pinned: 'ami-1', custom: 'ami-1', also: 'ami-2' });
    for (const parameter of [latest, pinned, custom, { ...latest, name: 'also' }]) await parameters.get(parameter);
    const looked: string[] = [];
    expect(await pass(parameters, ['ami-1'], looked)).toEqual(after(30 * MINUTE));
    // Each image is checked once, independent of the number of parameters.
    expect(looked.sort()).toEqual(['ami-1', 'ami-2']);
    asked.length = 0;
    for (const parameter of [latest, pinned, custom, { ...latest, name: 'also' }]) await parameters.get(parameter);
    expect(asked).toEqual(['latest']);
  });

  it('drops no parameter if an image cannot be described', async () => {
    const { parameters, asked } = store({ latest: 'ami-1' });
    await parameters.get(latest);
    const amis = { isDeprecated: () => Promise.reject(new Error('throttled')) } as unknown as Amis;
    const controller = ssmInvalidation(parameters, amis);
    await expect(controller.reconcile({ signal: new AbortController().signal, log: silent })).rejects.toThrow(
      'throttled',
    );
    await parameters.get(latest);
    expect(asked).toHaveLength(1);
  });
});
