@echo off
node "%~dp0bin\svc.js" %*
