import { openInProcess } from './in-process.ts';
import { contract } from './suite.ts';

contract('the local AWS in process', openInProcess);
