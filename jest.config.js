/** Three sizes of test, told apart by the file's name: pure, with a service, whole processes. */
const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', { module: { type: 'es6' } }] },
  moduleNameMapper: {
    '^#(.+)$': '<rootDir>/libs/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
};

export default {
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ['\\.(int|e2e)\\.spec\\.ts$'],
    },
    { ...base, displayName: 'int', testMatch: ['**/*.int.spec.ts'] },
    { ...base, displayName: 'e2e', testMatch: ['**/*.e2e.spec.ts'] },
  ],
  // What takes longer hangs: no test is measured by it, on however slow a machine.
  testTimeout: 300000,
  // Files leave some of their modules behind in the process that runs them.
  workerIdleMemoryLimit: '1GB',
};
