module PROGRAM

go 1.21
