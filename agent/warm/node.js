// A node that is started before anybody has said what it shall run: node -r THIS_FILE THIS_FILE
//
// It is initialised completely, writes "r" to descriptor 4 and waits for one command on descriptor 3: strings with NUL
// between them, namely the working directory, the umask in octal, the number of arguments, the arguments, and the
// environment as NAME=VALUE. Nothing at all means that nobody needs it. It then becomes what `node FILE` or
// `node -e CODE` would have been. One that ends before the "r" is of no use.
//
// It is preloaded (-r) and not the main program, because node looks up Module.runMain only after that. What we put
// there runs with nothing of ours below it, so stack traces, the order of callbacks and the way to end are node's own.
'use strict';

const fs = require('fs');
const Module = require('module');
const path = require('path');
const vm = require('vm');

// A node with which the whole list of commands has been run both ways (tests/e2e/warm_cases.py). Those of 20 before 20.12 have
// no vm.constants, and were not tried.
function isKnown() {
  const [major] = process.versions.node.split('.');
  return major === '18' || (major === '20' && vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER !== undefined);
}

function receive() {
  // A command that was given it already must not seem to have run.
  if (!isKnown()) {
    fs.writeSync(2, `atoll: node ${process.versions.node} cannot wait for a command\n`);
    process.reallyExit(125);
  }
  if (require.main === module) process.reallyExit(0);
  // What the first console.log would load, but nothing that opens or changes an output: that is up to the command.
  require('net');
  require('tty');
  fs.writeSync(4, 'r');
  const request = fs.readFileSync(3, 'utf8');
  fs.closeSync(3);
  fs.closeSync(4);
  if (request === '') process.reallyExit(0);
  const [directory, umask, count, ...rest] = request.split('\0');
  process.chdir(directory);
  process.umask(parseInt(umask, 8));
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const variable of rest.splice(count)) {
    const equals = variable.indexOf('=');
    process.env[variable.slice(0, equals)] = variable.slice(equals + 1);
  }
  Module._initPaths();  // depends on HOME
  return rest;
}

function runFile(file, ...rest) {
  process.argv = [process.execPath, path.resolve(file), ...rest];
  return Module.runMain.bind(Module, process.argv[1]);  // what is bound does not show up in a stack trace
}

// What node does for -e, in the same order, with what is open to programs.
function runCode(code, ...rest) {
  process.argv = [process.execPath, ...rest];
  process.execArgv = ['-e', code];
  if (code !== '')
    Object.defineProperty(process, '_eval', {value: code, enumerable: true, configurable: true, writable: false});
  const hasCrypto = Object.hasOwn(globalThis, 'crypto');  // from 20 on; before, it is one of the libraries below
  const libraries = new Module('<eval>');
  for (const name of Module.builtinModules) {
    if (name.startsWith('_') || name.includes('/') || Object.hasOwn(globalThis, name)) continue;
    const set = (value) => {
      delete globalThis[name];
      globalThis[name] = value;
    };
    const get = () => {
      const library = libraries.require(name);
      Object.defineProperty(globalThis, name, {get: () => library, set, configurable: true, enumerable: false});
      return library;
    };
    Object.defineProperty(globalThis, name, {get, set, configurable: true, enumerable: false});
  }
  const main = new Module('[eval]');
  main.filename = path.join(process.cwd(), '[eval]');
  main.paths = Module._nodeModulePaths(process.cwd());
  globalThis.__filename = '[eval]';
  main._compile(`
      globalThis.module = module;
      globalThis.exports = exports;
      globalThis.__dirname = __dirname;
      globalThis.require = require;`, '[eval]-wrapper');
  const text = hasCrypto && /\bcrypto\b/.test(code) ? `(crypto=>{{${code}}})(require('node:crypto'))` : code;
  try {
    const script = new vm.Script(text, {
      filename: '[eval]',
      importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    return script.runInThisContext.bind(script, undefined);
  } catch (error) {
    error.stack = error.stack.replace(/(\n    at .*)[^]*/, '$1');  // the frames after the first are ours
    return () => { throw error; };
  }
}

// Nobody shall find us where node notes what it has loaded.
delete require.cache[__filename];
delete Module._pathCache[__filename + '\0'];
Object.defineProperty(process, '_preload_modules', {value: []});
process.execArgv = [];
if (require('worker_threads').isMainThread) {  // a worker preloads what its parent did
  const [, ...words] = receive();
  const run = words[0] === '-e' ? runCode(...words.slice(1)) : runFile(...words);
  const runMain = Object.getOwnPropertyDescriptor(Module, 'runMain');
  Object.defineProperty(Module, 'runMain', {
    configurable: true,
    get() {
      Object.defineProperty(Module, 'runMain', runMain);
      return run;
    },
  });
}
