@echo off
setlocal
set "SVC_COMMAND=%~0"
node "%~dp0bin\svc.js" %*
