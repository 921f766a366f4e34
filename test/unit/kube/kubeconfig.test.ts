import { afterEach, describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../src/kube/kubeconfig.ts';

const ENVIRONMENT = { ...process.env };
afterEach(() => {
  process.env = { ...ENVIRONMENT };
});

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: one
clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}, {name: b, cluster: {server: 'http://127.0.0.1:2'}}]
users: [{name: me, user: {}}]
contexts: [{name: one, context: {cluster: a, user: me}}, {name: two, context: {cluster: b, user: me}}]
`;

describe('the connection to the API server', () => {
  it('is required instead of having a default', () => {
    process.env = { HOME: '/nonexistent', PATH: '' };
    expect(() => openConnection({})).toThrow('no kubeconfig found; set KUBECONFIG or create ~/.kube/config');
  });

  it('is the connection of the named context', () => {
    const serverOf = (context?: string) => openConnection({ kubeconfig: KUBECONFIG, context }).server.port;
    expect([serverOf(), serverOf('two')]).toEqual(['1', '2']);
    expect(() => serverOf('three')).toThrow(
      'Cannot find context "three" in the kubeconfig; existing contexts: one, two',
    );
  });
});
