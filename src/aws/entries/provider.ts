export { assemble } from '../assembly.ts';
export { AwsStart, awsProvider } from '../index.ts';
