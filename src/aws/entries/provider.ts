export { assemble } from '../assembly.ts';
export { startAwsProvider } from '../index.ts';
