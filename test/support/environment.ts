/**
 * Jest's environment for Node, with globals that are read as fast as anywhere else: Jest's own context asks an
 * interceptor at each `Object`, `Math` or `Array`, which is a third of the time of many tests.
 */
import vm from 'node:vm';
import type { EnvironmentContext, JestEnvironmentConfig } from '@jest/environment';
import { TestEnvironment } from 'jest-environment-node';

export default class PlainGlobals extends TestEnvironment {
  constructor(config: JestEnvironmentConfig, context: EnvironmentContext) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}
