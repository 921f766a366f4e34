import { afterEach, describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../src/kube/kubeconfig.ts';

const ENVIRONMENT = { ...process.env };
afterEach(() => {
  process.env = { ...ENVIRONMENT };
});

describe('the way to the API server', () => {
  it('is asked for where there is none, instead of made up', () => {
    process.env = { HOME: '/nonexistent', PATH: '' };
    expect(() => openConnection({})).toThrow('there is no kubeconfig, set KUBECONFIG or write ~/.kube/config');
  });
});
