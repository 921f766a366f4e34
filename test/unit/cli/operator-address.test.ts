/** Address of the operator for commands that read its data again and again. */
import { afterEach, expect, it, jest } from '@jest/globals';
import { ApiError } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { OperatorAddress } from '../../../src/cli/operator-address.ts';
import { partial } from '../../support/partial.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const { KUBECONFIG } = process.env;
/** Options of a user without --kubeconfig and --context. */
const FLAGS = KUBECONFIG === undefined ? {} : { kubeconfig: KUBECONFIG };

const refused = (): Promise<never> => Promise.reject(new ApiError(403, 'Forbidden', 'forbidden'));
/** Cluster whose operator cannot be found. */
const CLIENT = partial<HttpKubeReader>({ get: refused, list: refused, listAll: refused, find: refused });

/** Lets requests to the default address succeed or fail, and returns the requested URLs. */
function serve(isServed: boolean): readonly string[] {
  const asked: string[] = [];
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
    asked.push(String(url));
    if (!isServed) throw new Error('connection refused');
    return new Response('{}');
  });
  return asked;
}

it('is the default address if an operator is served there, and the user has not named a cluster', async () => {
  const asked = serve(true);
  const operator = new OperatorAddress(CLIENT, FLAGS, undefined);
  expect(await operator.url()).toBe('http://127.0.0.1:8080');
  expect(await operator.url()).toBe('http://127.0.0.1:8080');
  expect(asked).toEqual(['http://127.0.0.1:8080/debug/pause']);
});

it('is unknown if no operator is served there, with the reason', async () => {
  serve(false);
  const operator = new OperatorAddress(CLIENT, FLAGS, undefined);
  expect(await operator.url()).toBeUndefined();
  expect(operator.problem).not.toBe('');
});

it.each([
  { kubeconfig: '/another/kubeconfig' },
  { context: 'staging' },
])('is not that of another cluster than %j', async (named) => {
  const asked = serve(true);
  const operator = new OperatorAddress(CLIENT, { ...FLAGS, ...named }, undefined);
  expect(await operator.url()).toBeUndefined();
  expect(asked).toEqual([]);
});
